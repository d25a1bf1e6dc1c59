import { afterAll, beforeAll, expect, test } from 'vitest';
import { replayReport } from '../../src/core/replay/replay.js';
import { runView } from '../../src/core/runs/run.js';
import { SLOW } from '../harness/slow.js';
import { type Actor, bearer, type Door, expectProblem, openDoor } from './door.js';

let door: Door;
let over: string;
let cancelled: string;
beforeAll(async () => {
  door = await openDoor('pglite');
  const start = async (agent: string): Promise<string> =>
    runView.parse((await door.ask('otto', 'POST', '/api/v1/runs', { agent, input: 'go' })).json).id;
  [over, cancelled] = [await start('echo'), await start('slow')];
  await door.ask('otto', 'POST', `/api/v1/runs/${cancelled}/cancel`, {});
  for (const id of [over, cancelled]) await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=20`);
});
afterAll(() => door.close());

const replay = (actor: Actor, id: string, body: object) => door.ask(actor, 'POST', `/api/v1/runs/${id}/replay`, body);

test('a run is replayed, with its models if that is asked for', async () => {
  const strict = replayReport.parse((await replay('otto', over, { from: 2 })).json);
  expect(strict).toMatchObject({ mode: 'strict', result: 'same', from: 2, live: null });
  const live = replayReport.parse((await replay('otto', over, { liveModel: true })).json);
  expect(live).toMatchObject({ mode: 'live_model', result: 'same', live: { now: { output: 'hello' }, stopped: null } });
});

test.each<[what: string, actor: Actor, run: () => string, body: object, code: string, pointers: string[]]>([
  ['of no run', 'otto', () => 'run_x', {}, 'run_unknown', []],
  ['of another tenant', 'zoe', () => over, { liveModel: true }, 'run_unknown', []],
  ['of a viewer', 'vera', () => over, {}, 'forbidden', []],
  ['from an event beyond the log', 'otto', () => over, { from: 1000 }, 'invalid_request', ['/from']],
  ['from no event', 'otto', () => over, { from: 0 }, 'invalid_request', ['/from']],
  ['with a bound of nothing', 'otto', () => over, { maxUsd: '1' }, 'invalid_request', ['/maxUsd']],
  ['with money that is none', 'otto', () => over, { liveModel: true, maxUsd: 1 }, 'invalid_request', ['/maxUsd']],
  ['with a misspelt mode', 'otto', () => over, { live: true }, 'invalid_request', ['/live']],
])('a replay %s is refused by name', async (_what, actor, run, body, code, pointers) => {
  const { errors } = expectProblem(await replay(actor, run(), body), code);
  expect(errors.map(({ pointer }) => pointer)).toEqual(pointers);
});

test.runIf(SLOW)(
  'one that asks the models ends when its client is gone',
  async () => {
    const asked = { method: 'POST', body: '{"liveModel":true}' };
    const headers = { ...bearer('otto'), 'Content-Type': 'application/json' };
    const status = async (signal: AbortSignal): Promise<number | null> => {
      const url = `${door.http.url}/api/v1/runs/${cancelled}/replay`;
      return (await fetch(url, { ...asked, headers, signal }).catch(() => null))?.status ?? null;
    };
    const gone = new AbortController();
    const four = Promise.all([1, 2, 3, 4].map(() => status(gone.signal)));
    const another = () => status(AbortSignal.timeout(1000));
    await expect.poll(another).toBe(429);
    gone.abort();
    await four;
    await expect.poll(another).toBeNull();
  },
  60_000,
);
