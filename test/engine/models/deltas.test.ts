import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { DeltaSink, RunDelta } from '../../../src/core/log/delta.js';
import { DeltaHub } from '../../../src/engine/streaming/delta-hub.js';

/** Processes that hear one another, each with a hub. */
function processes(count: number, intervalMs = 5) {
  let ids = 0;
  const sent: string[] = [];
  const hubs: DeltaHub[] = [];
  const send = async (payloads: readonly string[]): Promise<void> => {
    await sleep(1);
    sent.push(...payloads);
    for (const payload of payloads) for (const hub of hubs) hub.receive(payload);
  };
  for (let n = 0; n < count; n++) {
    hubs.push(new DeltaHub({ newId: () => `id${ids++}`, send: count === 1 ? null : send, intervalMs }));
  }
  const [here = new DeltaHub({ newId: String, send: null }), there = here] = hubs;
  return { here, there, sent, close: () => hubs.map((hub) => hub.close()) };
}

const RUN = 'run_1';

function watching(hub: DeltaHub) {
  const got: RunDelta[] = [];
  const { feed, close } = hub.open(RUN, () => queueMicrotask(() => got.push(...feed.take())));
  got.push(...feed.take());
  const textOf = (attempt: string): string =>
    got.map((one) => (one.type === 'text' && one.attempt === attempt ? one.delta : '')).join('');
  return { got, feed, close, textOf };
}

const say = (sink: DeltaSink, ...texts: string[]): void => {
  for (const delta of texts) sink.add({ type: 'text', delta });
};

const attemptsOf = (got: readonly RunDelta[]): string[] => [
  ...new Set(got.flatMap((one) => (one.type === 'text' ? [one.attempt] : []))),
];

test.each([1, 2])('what comes together is one piece; order and kinds are kept (%d processes)', async (count) => {
  const { here, there, close } = processes(count);
  const { got } = watching(there);
  await sleep(20);
  const sink = here.begin(RUN, 1);
  say(sink, 'Hel', 'lo');
  sink.add({ type: 'reasoning', delta: 'hm' });
  sink.add({ type: 'arguments', delta: '{', callId: 'a', tool: 't' });
  sink.add({ type: 'arguments', delta: '}', callId: 'a', tool: 't' });
  sink.add({ type: 'arguments', delta: '{}', callId: 'b', tool: 't' });
  sink.end();
  say(sink, 'late');
  await expect.poll(() => got.length).toBe(4);
  const [first] = got;
  const of = { runId: RUN, turn: 1, attempt: first?.type === 'text' ? first.attempt : '' };
  expect(got).toEqual([
    { ...of, index: 0, type: 'text', delta: 'Hello' },
    { ...of, index: 1, type: 'reasoning', delta: 'hm' },
    { ...of, index: 2, type: 'arguments', delta: '{}', callId: 'a', tool: 't' },
    { ...of, index: 3, type: 'arguments', delta: '{}', callId: 'b', tool: 't' },
  ]);
  close();
});

test.each([1, 2])(
  'one who comes late gets the answer from its beginning, and others nothing twice (%d)',
  async (count) => {
    const { here, there, close } = processes(count);
    const early = watching(there);
    await sleep(20);
    const sink = here.begin(RUN, 1);
    say(sink, 'one ');
    await sleep(20);
    say(sink, 'two ');
    await sleep(20);
    const late = watching(there);
    say(sink, 'three');
    sink.end();
    const [attempt = ''] = attemptsOf(early.got);
    await expect.poll(() => [early.textOf(attempt), late.textOf(attempt)]).toEqual(['one two three', 'one two three']);
    const next = watching(there);
    await sleep(20);
    expect(next.got).toEqual([]);
    close();
  },
);

test.each([1, 2])('a newer attempt replaces what was seen, and the older is not heard any more (%d)', async (count) => {
  const { here, there, close } = processes(count);
  const { got, feed } = watching(there);
  await sleep(20);
  const [old, unseen, young] = [here.begin(RUN, 1), here.begin(RUN, 1), here.begin(RUN, 1)];
  old.end();
  unseen.end();
  young.end();
  await sleep(20);
  expect(got).toEqual([]);
  const first = here.begin(RUN, 2);
  say(first, 'Hel');
  await expect.poll(() => got.length).toBe(1);
  const second = here.begin(RUN, 2);
  await expect.poll(() => got.length).toBe(2);
  say(first, 'lo');
  say(second, 'Good day');
  await expect.poll(() => got.length).toBe(3);
  await sleep(20);
  const [a = '', b = ''] = attemptsOf(got);
  expect(got.slice(1)).toEqual([
    { type: 'replaced', runId: RUN, turn: 2, attempt: a, by: b },
    { type: 'text', runId: RUN, turn: 2, attempt: b, index: 0, delta: 'Good day' },
  ]);
  feed.settle(2);
  say(second, ' to you');
  await sleep(20);
  expect(got).toHaveLength(3);
  close();
});

test('a client that does not read loses deltas, is told how many, and goes on after', async () => {
  const { here, close } = processes(1);
  const { feed } = here.open(RUN, () => undefined);
  const sink = here.begin(RUN, 1);
  for (let n = 0; n < 100_000; n++) say(sink, 'ten chars ');
  await sleep(20);
  const taken = feed.take();
  const chars = taken.reduce((sum, one) => sum + ('delta' in one ? one.delta.length : 0), 0);
  expect(chars).toBeLessThanOrEqual(256 * 1024);
  expect(taken.filter((one) => one.type === 'dropped')).toEqual([
    { type: 'dropped', runId: RUN, count: expect.any(Number) },
  ]);
  expect(taken.at(-1)?.type).toBe('dropped');
  say(sink, 'after');
  sink.end();
  const [after] = feed.take();
  expect(after).toMatchObject({ type: 'text', delta: 'after' });
  const pieces = taken.filter((one) => one.type === 'text').length;
  const [dropped] = taken.filter((one) => one.type === 'dropped');
  expect(after).toMatchObject({ index: pieces + (dropped?.count ?? 0) });
  close();
});

test('between processes nothing is sent for a run that no one watches', async () => {
  const { here, there, sent, close } = processes(2);
  const sink = here.begin(RUN, 1);
  say(sink, 'Hello');
  await sleep(30);
  expect(sent).toEqual([]);
  const { got } = watching(there);
  await expect.poll(() => got.length).toBe(1);
  // A process that starts asks who watches; those who do not, keep silent.
  here.greet();
  const before = sent.length;
  await sleep(30);
  expect(sent.slice(before).map((one) => JSON.parse(one).what)).toEqual(['asking', 'watched']);
  sink.end();
  close();
});

test('whatever is in a delta, it fits into notifications and arrives whole', async () => {
  const { here, there, sent, close } = processes(2);
  const { got, textOf } = watching(there);
  await sleep(20);
  const sink = here.begin(RUN, 1);
  const text = `${'\u0000'.repeat(5000)}${'é'.repeat(5000)}${'👩‍🚀'.repeat(3000)}\ud800 ${'x'.repeat(5000)}`;
  say(sink, text);
  const odd = '\u0001'.repeat(200);
  sink.add({ type: 'arguments', delta: '\u0002'.repeat(800), callId: odd, tool: odd });
  sink.add({ type: 'arguments', delta: '{}', callId: 'x'.repeat(300), tool: null });
  sink.end();
  await expect.poll(() => got.at(-1)).toMatchObject({ type: 'arguments', callId: null });
  const [attempt = ''] = attemptsOf(got);
  expect(textOf(attempt) === text).toBe(true);
  expect(Math.max(...sent.map((one) => Buffer.byteLength(one)))).toBeLessThan(8000);
  for (const one of got)
    if (one.type === 'text' && one.delta.length > 100) expect(one.delta).not.toMatch(/[\ud800-\udbff]$/);
  close();
});
