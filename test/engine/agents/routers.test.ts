import { Agent, type ModelProvider } from '@openai/agents';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  createEngine,
  defineAgent,
  defineConfig,
  defineTool,
  functionModel,
  type HoldfastConfig,
} from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, dataOf, decideAndRest, engineFor, restOf, runToRest } from '../../harness/engine.js';
import { inPieces } from '../../harness/in-pieces.js';
import { call, resultsIn, say } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** Models whose moods tests set; `asked` is who was asked, in order. */
const asked: string[] = [];
const ill = new Set<string>();
const lab: ModelProvider = {
  getModel: async (name = '') =>
    name === 'nobody'
      ? Promise.reject(new Error('no one is there'))
      : inPieces(
          functionModel(name, ({ input }) => {
            asked.push(name);
            if (ill.has(name)) throw Object.assign(new Error(`${name} is ill`), { status: 503 });
            return resultsIn(input).length === 0 ? [call('ask', { what: name })] : [say(`said by ${name}`)];
          }),
          4,
        ),
};

const ask = defineTool({
  name: 'ask',
  description: 'Asks.',
  effect: 'pure',
  input: z.object({ what: z.string() }),
  output: z.string(),
  approval: true,
  execute: ({ what }) => `asked ${what}`,
});

const agent = (name: string, stream: boolean) =>
  defineAgent({ agent: new Agent({ name, model: 'router/pair', tools: [ask] }), grants: ['tool:call:ask'], stream });

const config = defineConfig({
  forkModels: ['router/typed'],
  agents: [
    agent('whole', false),
    agent('streamed', true),
    defineAgent({ agent: new Agent({ name: 'tester', model: 'router/ab' }) }),
    defineAgent({ agent: new Agent({ name: 'typed', model: 'router/typed' }) }),
  ],
  providers: { lab },
  routers: {
    pair: {
      strategy: 'capability_based',
      candidates: ['lab/a', 'lab/b'],
      retries: { attempts: 2, minWaitMs: 1 },
      breaker: { failures: 100_000 },
    },
    ab: {
      strategy: 'experiment',
      arms: [
        { name: 'left', model: 'lab/a', share: 0.5 },
        { name: 'right', model: 'lab/b', share: 0.5 },
      ],
    },
    typed: { strategy: 'capability_based', candidates: ['lab/a', { model: 'lab/b', taskTypes: ['code'] }] },
  },
});

describeEachDatabase('routers in runs', (kind) => {
  const warned: object[] = [];
  const silent = () => undefined;
  const warn = (fields: object) => void warned.push(fields);
  const t = engineFor(kind, { ...config, log: { debug: silent, info: silent, warn, error: silent } });
  beforeEach(() => {
    ill.clear();
    asked.length = 0;
    warned.length = 0;
  });

  it.each(['whole', 'streamed'])('the choice is recorded with the answer, and is not made again: %s', async (name) => {
    ill.add('a');
    const { id } = await runToRest(t.engine, name);
    const attempts = [
      { model: 'lab/a', outcome: 'failed' },
      { model: 'lab/b', outcome: 'answered' },
    ];
    const route = { router: 'pair', strategy: 'capability_based', model: 'lab/b', attempts };
    expect(await dataOf(t.engine, id, 'model.responded')).toMatchObject([{ model: 'router/pair', route }]);
    expect(asked).toEqual(['a', 'b']);

    // The one that goes on with the run finds the answer of b in its past, though a is well by now.
    ill.clear();
    await t.restart();
    const done = await decideAndRest(t.engine, id, { verdict: 'approve' });
    expect(done).toMatchObject({ status: 'completed', output: 'said by a' });
    const routes = (await dataOf(t.engine, id, 'model.responded')).map((data) => data['route']);
    expect(routes).toEqual([route, { ...route, model: 'lab/a', attempts: [{ model: 'lab/a', outcome: 'answered' }] }]);
    expect(asked).toEqual(['a', 'b', 'a']);
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });

    const { steps } = await t.engine.getTrajectory(id, ADMIN);
    expect(steps.map(({ action }) => action.route?.model)).toEqual(['lab/b', 'lab/a']);
  });

  it.runIf(SLOW)('a fork and a state that is made again from the log keep the choice', async () => {
    ill.add('a');
    const { id } = await runToRest(t.engine, 'whole');
    const [first] = await dataOf(t.engine, id, 'model.responded');
    asked.length = 0;
    await t.between((knex) => knex('holdfast.snapshots').del());
    await decideAndRest(t.engine, id, { verdict: 'approve' });
    expect(asked).toEqual(['a', 'b']);

    const { items } = await t.engine.listEvents(id, { after: 0, limit: 1000 }, ADMIN);
    const at = items.find(({ kind: one }) => one === 'model.responded')?.seq ?? 0;
    asked.length = 0;
    const { id: fork } = await t.engine.forkRun(id, { at }, ADMIN);
    expect((await restOf(t.engine, fork)).status).toBe('paused');
    expect(asked).toEqual([]);
    const [copied] = await dataOf(t.engine, fork, 'model.responded');
    expect(copied?.['route']).toEqual(first?.['route']);

    // A fork may ask a router in place of its models, from the next turn on.
    const { id: other } = await t.engine.forkRun(id, { at: 2, model: 'router/typed' }, ADMIN);
    await restOf(t.engine, other);
    expect(await dataOf(t.engine, other, 'model.responded')).toMatchObject([
      { model: 'router/typed', route: { router: 'typed', model: 'lab/b' } },
    ]);
  });

  it('what the router could not get is final: its retries are not multiplied', async () => {
    ill.add('a').add('b');
    const failed = await runToRest(t.engine, 'whole');
    expect(failed).toMatchObject({
      status: 'failed',
      error: { code: 'route_failed', message: /lab\/a: a is ill; lab\/b: b is ill/ },
    });
    expect(asked).toEqual(['a', 'b', 'a', 'b']);
    const note = (model: string) => ({ router: 'pair', model, outcome: 'failed', status: 503, runId: failed.id });
    expect(warned).toMatchObject([note('lab/a'), note('lab/b'), note('lab/a'), note('lab/b')]);
  });

  it('a run stays in its arm, and the arm is in the log', async () => {
    const arms = new Set<unknown>();
    for (let n = 0; n < 12; n++) {
      const { id } = await runToRest(t.engine, 'tester');
      const [data] = await dataOf(t.engine, id, 'model.responded');
      const route = data?.['route'] as { arm: string; model: string };
      expect(route.model).toBe(route.arm === 'left' ? 'lab/a' : 'lab/b');
      arms.add(route.arm);
    }
    // By chance once in two thousand.
    expect(arms.size).toBe(2);
  });

  it('a run says its task in its metadata', async () => {
    const { id } = await t.engine.startRun({ agent: 'typed', input: 'go', metadata: { taskType: 'code' } }, ADMIN);
    await restOf(t.engine, id);
    expect(await dataOf(t.engine, id, 'model.responded')).toMatchObject([{ route: { model: 'lab/b' } }]);
  });
});

describe('a configuration with routers that cannot work', () => {
  const broken = async (parts: Partial<HoldfastConfig>): Promise<unknown> => {
    const start = createEngine({ agents: [], providers: { lab }, ...parts, dataDir: '/nowhere/at/all' });
    return start.catch((error: unknown) => error);
  };

  it('is refused before anything is opened, with the place of every wrong field', async () => {
    expect(
      await broken({
        routers: {
          cheap: {
            strategy: 'round_robin',
            candidates: ['lab/a', 'moon/x', { model: 'lab/nobody' }],
            fallback: ['router/ab'],
          },
          ab: { strategy: 'experiment', arms: [{ name: 'a', model: 'openai/gpt-5', share: 1 }] },
        },
      }),
    ).toMatchObject({
      code: 'config_invalid',
      message: /routers\.cheap\.candidates\.1: .*"moon".*routers\.cheap\.candidates\.2: nobody is there/,
      fields: [
        { pointer: '/routers/cheap/candidates/1' },
        { pointer: '/routers/cheap/candidates/2' },
        { pointer: '/routers/ab/arms/0', detail: expect.stringMatching(/no key/) },
      ],
    });
  });

  it('is refused for shapes, circles, and agents that name no one', async () => {
    const stray = new Agent({ name: 'stray', model: 'router/none' });
    expect(await broken({ agents: [stray] })).toMatchObject({
      code: 'config_invalid',
      message: /agents\.0: the agent stray asks router\/none, and the routers are none/,
    });
    const circle = { a: { strategy: 'round_robin' as const, candidates: ['router/a'] } };
    expect(await broken({ routers: circle })).toMatchObject({ fields: [{ pointer: '/routers/a/candidates/0' }] });
    const odd = { a: { strategy: 'cheapest', candidates: ['lab/a'] } };
    expect(await broken({ routers: odd as never })).toMatchObject({ fields: [{ pointer: '/routers/a/strategy' }] });
    const fine = { a: { strategy: 'round_robin' as const, candidates: ['lab/a'] } };
    expect(await broken({ routers: fine, providers: { lab, router: lab } })).toMatchObject({
      fields: [{ pointer: '/providers/router' }],
    });
  });
});
