import { afterAll, beforeAll, expect, test } from 'vitest';
import { interruptionView } from '../../../src/core/interruptions/interruption.js';
import { runEvent } from '../../../src/core/log/event.js';
import { pageOf } from '../../../src/core/operations/fields.js';
import { type RunView, runView } from '../../../src/core/runs/run.js';
import { describeEachDatabase } from '../../harness/database.js';
import { SLOW } from '../../harness/slow.js';
import { type Actor, type Door, expectProblem, openDoor } from '../door.js';
import { openStream, type Stream } from '../event-stream.js';

describeEachDatabase('event streams', (kind) => {
  let door: Door;
  /** A run that is over. */
  let over: RunView;
  beforeAll(async () => {
    door = await openDoor(kind);
    over = await settled('echo');
  });
  afterAll(() => door.close());

  async function start(agent: string): Promise<RunView> {
    const { json } = await door.ask('otto', 'POST', '/api/v1/runs', { agent, input: 'go' });
    return runView.parse(json);
  }

  async function settled(agent: string): Promise<RunView> {
    const { id } = await start(agent);
    return runView.parse((await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=20`)).json);
  }

  async function logOf(id: string): Promise<readonly unknown[]> {
    const { json } = await door.ask('vera', 'GET', `/api/v1/runs/${id}/events?limit=200`);
    return pageOf(runEvent).parse(json).items;
  }

  const open = (actor: Actor, path: string, headers?: Record<string, string>): Promise<Stream> =>
    openStream(door, actor, path, headers);

  const eventsOf = ({ messages }: Stream): unknown[] =>
    messages.filter(({ event }) => event !== 'end').map(({ data }) => JSON.parse(data) as unknown);
  const idsOf = ({ messages }: Stream): (string | undefined)[] => messages.map(({ id }) => id);

  test('a run is seen live, through its pause, to its end', async () => {
    const { id } = await start('payer');
    const stream = await open('vera', `/api/v1/runs/${id}/events`);
    await expect.poll(() => stream.messages.at(-1)?.event).toBe('run.paused');
    const inbox = await door.ask('vera', 'GET', `/api/v1/interruptions?run=${id}`);
    const [interruption] = pageOf(interruptionView).parse(inbox.json).items;
    await door.ask('anna', 'POST', `/api/v1/interruptions/${interruption?.id}/approve`);
    await stream.ended;
    expect(stream.messages.at(-1)).toMatchObject({ event: 'end', data: '{"status":"completed"}' });
    expect(eventsOf(stream)).toEqual(await logOf(id));
    expect(idsOf(stream).slice(0, -1)).toEqual(
      stream.messages.slice(0, -1).map((_message, index) => String(index + 1)),
    );
  });

  test('two who look at once see the same', async () => {
    const { id } = await start('echo');
    const path = `/api/v1/runs/${id}/events`;
    const [one, two] = await Promise.all([open('vera', path), open('adam', path)]);
    await Promise.all([one.ended, two.ended]);
    expect(eventsOf(one)).toEqual(eventsOf(two));
    expect(eventsOf(one)).toEqual(await logOf(id));
  });

  test.each<[string, string, Record<string, string>, number]>([
    ['nothing', '', {}, 0],
    ['the header', '', { 'Last-Event-ID': '3' }, 3],
    ['the query', '?lastEventId=3', {}, 3],
    ['the cursor', '?cursor=3', {}, 3],
    ['the header before the query', '?lastEventId=1&cursor=2', { 'Last-Event-ID': '3' }, 3],
    ['an empty header', '', { 'Last-Event-ID': '' }, 0],
    ['an empty query', '?lastEventId=', {}, 0],
    ['more than there is', '?lastEventId=999', {}, 999],
  ])('by %s exactly what was missed comes', async (_what, query, headers, after) => {
    const { id } = over;
    const stream = await open('vera', `/api/v1/runs/${id}/events${query}`, headers);
    await stream.ended;
    expect(eventsOf(stream)).toEqual((await logOf(id)).slice(after));
    expect(stream.messages.at(-1)?.event).toBe('end');
  });

  test('a Last-Event-ID that is none is refused', async () => {
    const { id } = over;
    const headers = { Accept: 'text/event-stream', 'Last-Event-ID': 'run_1:3' };
    const answer = await door.ask('vera', 'GET', `/api/v1/runs/${id}/events`, undefined, headers);
    expect(expectProblem(answer, 'invalid_request').errors[0]?.pointer).toBe('/header/last-event-id');
  });

  test.each(['*/*', 'application/json', 'application/json, text/event-stream;q=0.5'])(
    'who accepts %s gets a page',
    async (Accept) => {
      const { id } = over;
      const answer = await door.ask('vera', 'GET', `/api/v1/runs/${id}/events`, undefined, { Accept });
      expect(pageOf(runEvent).parse(answer.json).items.length).toBeGreaterThan(3);
    },
  );

  test.runIf(SLOW)('a token has 64 streams, and gets one back when it closes one', async () => {
    const { id } = await settled('payer');
    const path = `/api/v1/runs/${id}/events`;
    const streams = await Promise.all(Array.from({ length: 64 }, () => open('vera', path)));
    const more = (): ReturnType<Door['ask']> =>
      door.ask('vera', 'GET', path, undefined, { Accept: 'text/event-stream' });
    const refused = await more();
    expectProblem(refused, 'rate_limited');
    expect(refused.headers.get('retry-after')).toBe('5');
    (await open('adam', path)).close();
    streams[0]?.close();
    await expect.poll(() => open('vera', path).then((stream) => stream.close())).toBeUndefined();
    for (const stream of streams) stream.close();
  });

  test('a server that closes ends streams without `end`, and waits with the run as it is', async () => {
    const { id } = await settled('payer');
    const slow = await start('slow');
    const stream = await open('vera', `/api/v1/runs/${id}/events`);
    await expect.poll(() => stream.messages.at(-1)?.event).toBe('run.paused');
    const wait = door.ask('vera', 'GET', `/api/v1/runs/${slow.id}?wait=60`);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await door.http.close();
    await stream.ended;
    expect(stream.messages.map(({ event }) => event)).not.toContain('end');
    expect(runView.parse((await wait).json)).toMatchObject({ id: slow.id, completedAt: null });
  });
});
