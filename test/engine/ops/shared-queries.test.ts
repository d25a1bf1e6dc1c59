import { expect, it } from 'vitest';
import { SharedQueries } from '../../../src/engine/ops/shared-queries.js';
import { totalsKeptMs } from '../../../src/engine/ops/summaries.js';

/** Queries that count themselves, and are over when the test says so. */
function queries(keptMs: (tookMs: number) => number) {
  const open: { readonly done: (n: number) => void; readonly fail: (error: Error) => void }[] = [];
  const shared = new SharedQueries<number>({
    query: () => new Promise((done, fail) => void open.push({ done, fail })),
    keptMs,
  });
  return { open, of: (tenant = 'a') => shared.of(tenant) };
}

it('one query serves all who ask while it is under way and as long as it is kept, of one tenant', async () => {
  const { open, of } = queries(() => 60_000);
  const both = [of(), of(), of('b')];
  expect(open).toHaveLength(2);
  open[0]?.done(1);
  open[1]?.done(2);
  expect(await Promise.all(both)).toEqual([1, 1, 2]);
  expect(await of()).toBe(1);
  expect(open).toHaveLength(2);
});

it('a query that is not kept is made for each who asks', async () => {
  const { open, of } = queries(() => 0);
  const both = [of(), of()];
  open[0]?.done(1);
  open[1]?.done(2);
  expect(await Promise.all(both)).toEqual([1, 2]);
  void of();
  expect(open).toHaveLength(3);
});

it('a query that failed serves no one who asks after it', async () => {
  const { open, of } = queries(() => 60_000);
  const first = of();
  open[0]?.fail(new Error('the database is away'));
  await expect(first).rejects.toThrow('away');
  const second = of();
  open[1]?.done(2);
  expect(await second).toBe(2);
});

it('totals of a short history are read each time, those of a long one take a twentieth of the time', () => {
  expect([0, 99, 100, 2000, 3000, 60_000].map(totalsKeptMs)).toEqual([0, 0, 2000, 40_000, 60_000, 60_000]);
});
