import { Agent } from '@openai/agents';
import pg from 'pg';
import { expect, it, vi } from 'vitest';
import type { SystemEvent, SystemGap } from '../../../src/core/log/system-event.js';
import { SystemTail } from '../../../src/engine/streaming/system-events.js';
import { defineAgent } from '../../../src/index.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, engineFor, runToRest } from '../../harness/engine.js';
import { say, scripted } from '../../harness/script.js';

const FOLLOWERS = 60;
const agents = [defineAgent({ agent: new Agent({ name: 'plain', model: scripted([[say('done')]], 3) }) })];

describeBothDatabasesSlowly('those who follow the events of the system', (kind) => {
  const t = engineFor(kind, { agents });

  it('have each event, which is read once for all of them', async () => {
    const ending = new AbortController();
    const heard: (SystemEvent | SystemGap)[][] = [];
    const follow = async (mine: (SystemEvent | SystemGap)[]): Promise<void> => {
      for await (const event of t.engine.streamSystemEvents({ after: 'now', signal: ending.signal }, ADMIN))
        mine.push(event);
    };
    const follows = Array.from({ length: FOLLOWERS }, () => {
      const mine: (SystemEvent | SystemGap)[] = [];
      heard.push(mine);
      return follow(mine);
    });
    // Each of them has begun when it hears of the first run.
    const stored = (mine: readonly (SystemEvent | SystemGap)[]) =>
      mine.flatMap((event) => ('kind' in event && event.kind === 'trajectory.stored' ? [event.runId] : []));
    const untilAllHave = (id: string) => expect.poll(() => heard.every((mine) => stored(mine).includes(id))).toBe(true);
    let first = '';
    await expect
      .poll(async () => {
        first = (await runToRest(t.engine, 'plain')).id;
        return heard.every((mine) => mine.length > 0);
      })
      .toBe(true);
    await untilAllHave(first);
    const before = heard.map((mine) => mine.length);
    const query = vi.spyOn(pg.Client.prototype, 'query');
    const { id } = await runToRest(t.engine, 'plain');
    await untilAllHave(id);
    const isRead = ([config]: readonly unknown[]) =>
      /page_place.*system_events/s.test(String((config as { readonly text?: unknown }).text ?? config));
    const reads = query.mock.calls.filter(isRead).length;
    query.mockRestore();
    const came = heard.map((mine, n) => mine.slice(before[n]));
    for (const mine of came) expect(mine.slice(0, 3)).toEqual(came[0]?.slice(0, 3));
    expect(reads).toBeGreaterThan(0);
    expect(reads).toBeLessThan(FOLLOWERS);
    ending.abort();
    await Promise.all(follows);
  });
});

const event = (seq: number, tenant: string | null): SystemEvent => ({
  ...{ seq, tenant, kind: 'queue.depth_changed', at: '2026-01-01T00:00:00.000Z' },
  ...{ taskId: null, runId: null, workerId: null, data: {} },
});

it('the end of the order that is kept gives each tenant its own, and nothing from before it', () => {
  const tail = new SystemTail();
  tail.beginAt(10);
  tail.add([event(11, 'acme'), event(12, null), event(14, 'default')], 15);
  const seqs = (place: number, tenant: string, shared: boolean) =>
    tail.after(place, { tenant, shared })?.map(({ seq }) => seq);
  expect(seqs(9, 'acme', true)).toBeUndefined();
  expect(seqs(10, 'acme', true)).toEqual([11, 12]);
  expect(seqs(10, 'acme', false)).toEqual([11]);
  expect(seqs(12, 'default', true)).toEqual([14]);
  expect(seqs(15, 'default', true)).toEqual([]);
  tail.add(
    Array.from({ length: 2000 }, (_, n) => event(16 + n, 'acme')),
    2015,
  );
  expect(seqs(13, 'acme', false)).toBeUndefined();
  expect(seqs(14, 'acme', false)).toHaveLength(2000);
});
