import { Agent, run, Usage } from '@openai/agents';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  createEngine,
  defineAgent,
  defineTool,
  type Engine,
  functionModel,
  type HoldfastError,
  subAgent,
} from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, BOB, dataOf, decideAndRest, engineFor, kindsOf, restOf } from '../../harness/engine.js';
import { call, resultsIn, say } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

const usage = new Usage({ inputTokens: 100, outputTokens: 100, totalTokens: 200 });

/** Asks its tool so many times, then says how often; each answer costs a tenth of a dollar at most. */
const counter = (name: string, turns: number, tool = 'look') =>
  functionModel(name, ({ input }) => {
    const done = resultsIn(input).length;
    return {
      output: done < turns ? [call(tool, { input: 'x' }, `call_${done}`)] : [say(`looked ${done} times`)],
      usage,
    };
  });

// 100 tokens of output cost a tenth of a dollar; the input is free.
const PRICE = { inputPerMillion: '0', outputPerMillion: '1000' };
const modelSettings = { maxTokens: 100 };
const helper = new Agent({ name: 'helper', model: counter('helper', 0), modelSettings });
const look = defineTool({
  ...{
    name: 'look',
    description: 'Looks.',
    input: z.object({ input: z.string() }),
    output: z.string(),
    effect: 'pure',
  },
  execute: () => 'seen',
});
const looker = new Agent({ name: 'looker', model: counter('looker', 4), modelSettings, tools: [look] });
const boss = new Agent({
  ...{ name: 'boss', model: counter('boss', 1), modelSettings },
  tools: [subAgent({ agent: 'helper', name: 'look' })],
});
const plain = (name: string, model = counter(name, 0)) => new Agent({ name, model, modelSettings });
const failing = functionModel('failing', () => {
  throw Object.assign(new Error('it broke while it answered'), { status: 500 });
});
const refusing = functionModel('refusing', () => {
  throw Object.assign(new Error('not like this'), { status: 400 });
});
const silent = functionModel('silent', () => ({ output: [say('done')], usage: new Usage() }));
/** An agent whose tool is another agent of the same run. */
const nesting = new Agent({
  ...{ name: 'nesting', model: counter('nesting', 1, 'inner'), modelSettings },
  tools: [plain('inner').asTool({ toolName: 'inner', toolDescription: 'Looks.' })],
});

const judge = new Agent({ name: 'judge', model: 'mine/dear', modelSettings });
/** An agent whose guardrail asks another one first. */
const judged = new Agent({
  ...{ name: 'judged', model: counter('judged', 0), modelSettings },
  inputGuardrails: [
    {
      name: 'judge',
      runInParallel: false,
      execute: async () => ({ tripwireTriggered: false, outputInfo: (await run(judge, 'fine?')).finalOutput }),
    },
  ],
});

const config = {
  agents: [
    ...[judged, helper, plain('daily'), plain('fails_daily'), plain('unknown'), plain('free')],
    new Agent({ name: 'routed', model: 'router/cheap', modelSettings }),
    ...[plain('failing', failing), plain('refusing', refusing), plain('silent', silent)],
    defineAgent({ agent: nesting, grants: ['tool:call:inner'] }),
    ...[looker, boss].map((agent) => defineAgent({ agent, grants: ['tool:call:look'] })),
  ],
  providers: { mine: { getModel: (name?: string) => counter(name ?? '', 0) } },
  routers: {
    cheap: { strategy: 'load_balanced' as const, candidates: ['mine/dear'], fallback: ['mine/free'] },
  },
  prices: {
    'mine/dear': PRICE,
    'mine/free': 'free' as const,
    'object/unknown': undefined as never,
    'object/free': 'free' as const,
    ...Object.fromEntries(
      [
        'looker',
        'boss',
        'helper',
        'daily',
        'fails_daily',
        'failing',
        'refusing',
        'silent',
        'nesting',
        'inner',
        'judged',
      ].map((name) => [`object/${name}`, PRICE]),
    ),
  },
  budgets: { perAgent: { daily: { perDay: '0.15' } } },
};
delete (config.prices as Record<string, unknown>)['object/unknown'];

const start = async (engine: Engine, agent: string, budget?: { usd: string; onExhausted?: 'ask' | 'fail' }) =>
  (await engine.startRun({ agent, input: 'go', ...(budget && { budget }) }, ADMIN)).id;

describeEachDatabase('runs with budgets', (kind) => {
  const t = engineFor(kind, config);

  /** Waits until a run is over, or waits for money. */
  const rest = async (id: string) => {
    for (;;) {
      const run = await restOf(t.engine, id);
      if (run.status !== 'paused' || (await budgetsAsked(id)).length > 0) return run;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const budgetsAsked = async (runId: string) =>
    (await t.engine.listInterruptions({ runId, kind: 'budget', status: 'pending', limit: 10 }, BOB)).items;
  const charges = async (id: string) => (await t.engine.listCharges(id, { after: 0, limit: 50 }, ADMIN)).items;
  const whole = async (id: string) =>
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true, broken: null });

  test('one that fails does so before the call that has no room, by name', async () => {
    const id = await start(t.engine, 'looker', { usd: '0.25', onExhausted: 'fail' });
    const run = await rest(id);
    expect(run).toMatchObject({ status: 'failed', error: { code: 'limit_budget' } });
    expect(run.error?.message).toBe(
      `The budget of the run ${id} is 0.25 dollars; 0.2 are spent or reserved, and the next model call may take 0.1.`,
    );
    // A call that does not go out is no charge.
    expect(run.costUsd).toBe('0.2');
    expect(await charges(id)).toMatchObject([
      { state: 'settled', costUsd: '0.1' },
      { state: 'settled', costUsd: '0.1' },
    ]);
    await whole(id);
  });

  test('one that asks pauses before the call, and goes on with exactly that one', async () => {
    const id = await start(t.engine, 'looker', { usd: '0.45' });
    expect(await rest(id)).toMatchObject({ status: 'paused', costUsd: '0.4', turns: 4 });
    const [asked] = await budgetsAsked(id);
    expect(asked).toMatchObject({
      ...{ kind: 'budget', callId: null, tool: null, verdicts: ['approve', 'reject'], arguments: null },
      reason: { code: 'budget' },
      wait: {
        ...{ kind: 'budget', budget: `run:${id}`, scope: 'run', name: id, day: null },
        ...{ limitUsd: '0.45', spentUsd: '0.4', neededUsd: '0.1' },
      },
    });
    const refusal = async (decision: Parameters<Engine['decide']>[1]) =>
      t.engine
        .decide(asked?.id ?? '', decision, BOB)
        .catch((error: HoldfastError) => [error.code, error.fields[0]?.pointer]);
    expect(await refusal({ verdict: 'approve' })).toEqual(['invalid_request', '/budget']);
    expect(await refusal({ verdict: 'approve', budget: { usd: '0.49' } })).toEqual(['invalid_request', '/budget']);
    expect(await refusal({ verdict: 'answer', value: 1 })).toEqual(['verdict_not_allowed', undefined]);
    expect(await refusal({ verdict: 'approve', arguments: {}, budget: { usd: '9' } })).toEqual([
      'plain_approval_only',
      undefined,
    ]);
    await t.engine.decide(asked?.id ?? '', { verdict: 'approve', budget: { usd: '5.00' } }, BOB);
    const run = await rest(id);
    expect(run).toMatchObject({ status: 'completed', output: 'looked 4 times', turns: 5, costUsd: '0.5' });
    expect((await charges(id)).map(({ turn, state }) => `${turn} ${state}`)).toEqual(
      [1, 2, 3, 4, 5].map((n) => `${n} settled`),
    );
    expect(await dataOf(t.engine, id, 'interruption.decided')).toContainEqual(
      expect.objectContaining({ verdict: 'approve', actor: 'bob', value: { limitUsd: '5' } }),
    );
    await whole(id);
  });

  test('one that is rejected ends, and says why', async () => {
    const id = await start(t.engine, 'looker', { usd: '0.05' });
    expect(await rest(id)).toMatchObject({ status: 'paused', turns: 0, costUsd: '0' });
    const run = await decideAndRest(t.engine, id, { verdict: 'reject', message: 'Too dear.' });
    expect(run).toMatchObject({ status: 'failed', error: { code: 'limit_budget' } });
    expect(run.error?.message).toMatch(/bob did not raise it: Too dear\.$/);
    await whole(id);
  });

  test('one that pauses before its first call begins with it', async () => {
    const id = await start(t.engine, 'looker', { usd: '0' });
    expect(await rest(id)).toMatchObject({ status: 'paused', turns: 0 });
    const [asked] = await budgetsAsked(id);
    await t.engine.decide(asked?.id ?? '', { verdict: 'approve', budget: { usd: '9' } }, BOB);
    expect(await rest(id)).toMatchObject({ status: 'completed', output: 'looked 4 times', turns: 5 });
    await whole(id);
  });

  test('a sub-agent takes from the budget of the run above it, and pauses itself', async () => {
    const id = await start(t.engine, 'boss', { usd: '0.1' });
    const child = async () => (await t.engine.listRuns({ parent: id, limit: 5 }, ADMIN)).items[0];
    while ((await child())?.status !== 'paused') await new Promise((resolve) => setTimeout(resolve, 20));
    const below = await child();
    expect(below?.limits.budget).toEqual({ usd: '0.1', onExhausted: 'ask', of: id });
    const [asked] = await budgetsAsked(below?.id ?? '');
    expect(asked?.wait).toMatchObject({ budget: `run:${id}`, spentUsd: '0.1' });
    await t.engine.decide(asked?.id ?? '', { verdict: 'approve', budget: { usd: '1' } }, BOB);
    expect(await rest(id)).toMatchObject({ status: 'completed', costUsd: '0.3' });
    await whole(id);
  });

  test('an agent behind a tool pauses with its run in the middle of its work', async () => {
    const id = await start(t.engine, 'nesting', { usd: '0.1' });
    expect(await rest(id)).toMatchObject({ status: 'paused', turns: 1 });
    const [asked] = await budgetsAsked(id);
    expect(asked?.agent).toBe('inner');
    await t.engine.decide(asked?.id ?? '', { verdict: 'approve', budget: { usd: '1' } }, BOB);
    expect(await rest(id)).toMatchObject({ status: 'completed', output: 'looked 1 times', costUsd: '0.3' });
    await whole(id);
  });

  test('a judge that a guardrail runs takes from the budget of the run, and fails where it has no room', async () => {
    const poor = await restOf(t.engine, await start(t.engine, 'judged', { usd: '0.05' }));
    expect(poor).toMatchObject({
      status: 'failed',
      costUsd: '0',
      error: { message: expect.stringContaining('budget') },
    });
    expect(await kindsOf(t.engine, poor.id)).not.toContain('model.requested');
    const rich = await restOf(t.engine, await start(t.engine, 'judged', { usd: '0.20' }));
    expect(rich).toMatchObject({ status: 'completed', costUsd: '0.2' });
    const short = await restOf(t.engine, await start(t.engine, 'judged', { usd: '0.15', onExhausted: 'fail' }));
    expect(short).toMatchObject({ status: 'failed', costUsd: '0.1', error: { code: 'limit_budget' } });
  });

  test('a budget of a day is shared by the runs of an agent', async () => {
    expect(await rest(await start(t.engine, 'daily'))).toMatchObject({ status: 'completed' });
    const id = await start(t.engine, 'daily');
    expect(await rest(id)).toMatchObject({ status: 'paused' });
    const [asked] = await budgetsAsked(id);
    const day = new Date().toISOString().slice(0, 10);
    expect(asked?.wait).toMatchObject({ scope: 'agent', name: 'daily', limitUsd: '0.15', spentUsd: '0.1' });
    expect([day, new Date().toISOString().slice(0, 10)]).toContain(
      asked?.wait?.kind === 'budget' ? asked.wait.day : null,
    );
  });

  test('a price that is not known lets no call out where a budget applies; what is free goes out', async () => {
    const unknown = await rest(await start(t.engine, 'unknown', { usd: '5' }));
    expect(unknown).toMatchObject({ status: 'failed', error: { code: 'price_unknown' } });
    expect(unknown.error?.message).toMatch(/object\/unknown/);
    expect(await rest(await start(t.engine, 'unknown'))).toMatchObject({ status: 'completed', costUsd: null });
    expect(await rest(await start(t.engine, 'free', { usd: '0' }))).toMatchObject({
      status: 'completed',
      costUsd: '0',
    });
  });

  test('a router asks who is next where a budget has no room, and every candidate is checked against it', async () => {
    const rich = await rest(await start(t.engine, 'routed', { usd: '0.1' }));
    expect([rich.status, rich.costUsd, (await charges(rich.id))[0]?.model]).toEqual(['completed', '0.1', 'mine/dear']);
    const poor = await rest(await start(t.engine, 'routed', { usd: '0.09' }));
    expect([poor.status, poor.costUsd, (await charges(poor.id))[0]?.model]).toEqual(['completed', '0', 'mine/free']);
  });

  test.runIf(SLOW)('what may have been paid for stays charged, what was refused is given back', async () => {
    const broken = await rest(await start(t.engine, 'failing', { usd: '5' }));
    expect(broken.status).toBe('failed');
    // Every attempt may have cost what was reserved for it.
    const assumed = await charges(broken.id);
    expect(assumed.length).toBeGreaterThan(1);
    expect(new Set(assumed.map(({ state, costUsd }) => `${state} ${costUsd}`))).toEqual(new Set(['assumed 0.1']));
    const refused = await rest(await start(t.engine, 'refusing', { usd: '5' }));
    expect(refused).toMatchObject({ status: 'failed', costUsd: '0' });
    expect(await charges(refused.id)).toMatchObject([{ state: 'released', costUsd: '0' }]);
    const quiet = await rest(await start(t.engine, 'silent', { usd: '5' }));
    expect(quiet).toMatchObject({ status: 'completed', costUsd: '0.1' });
    expect(await charges(quiet.id)).toMatchObject([{ state: 'assumed', usage: null }]);
  });

  test('a fork has a budget of its own, also of a run that waits for more, and of one that got more', async () => {
    const id = await start(t.engine, 'looker', { usd: '0.45' });
    await rest(id);
    const end = async () => (await t.engine.listEvents(id, { after: 0, limit: 1000 }, ADMIN)).items.length;
    const fork = await t.engine.forkRun(id, { at: await end() }, ADMIN);
    expect(await rest(fork.id)).toMatchObject({ status: 'completed', turns: 5, costUsd: '0.1' });
    const anew = await t.engine.forkRun(id, { at: 1 }, ADMIN);
    expect(await rest(anew.id)).toMatchObject({ status: 'paused', turns: 4, costUsd: '0.4' });
    await decideAndRest(t.engine, id, { verdict: 'approve', budget: { usd: '5' } });
    await rest(id);
    const after = await t.engine.forkRun(id, { at: (await end()) - 1 }, ADMIN);
    expect(await rest(after.id)).toMatchObject({ status: 'completed' });
    await whole(after.id);
  });

  test.runIf(SLOW)('a state that is lost is made again from a log that waited for money', async () => {
    const id = await start(t.engine, 'looker', { usd: '0.45' });
    await rest(id);
    await t.between((knex) => knex('holdfast.snapshots').where({ run_id: id }).delete());
    const [asked] = await budgetsAsked(id);
    await t.engine.decide(asked?.id ?? '', { verdict: 'approve', budget: { usd: '5' } }, BOB);
    expect(await rest(id)).toMatchObject({ status: 'completed', output: 'looked 4 times', costUsd: '0.5' });
    await whole(id);
    expect(await kindsOf(t.engine, id)).toContain('run.completed');
  });
});

test.each([
  [{ budgets: { perRun: 2 } }, 'budgets.perRun'],
  [{ budgets: { perAgent: { nobody: { perDay: '1' } } } }, 'budgets.perAgent.nobody'],
  [{ budgets: { perTenant: { named: { a: { perDay: '-1' } } } } }, 'budgets.perTenant.named.a.perDay'],
  [{ budgets: { onExhausted: 'pause' } }, 'budgets.onExhausted'],
  [{ budgets: { perMonth: '1' } }, 'budgets'],
  [{ unknownPrice: 'zero' }, 'unknownPrice'],
])('%j keeps the engine from starting, and is named', async (bad, path) => {
  const refused = await createEngine({ agents: [], dataDir: '/nowhere', ...(bad as object) }).catch(
    (error: unknown) => error,
  );
  expect(refused).toMatchObject({ code: 'config_invalid' });
  expect((refused as HoldfastError).message).toContain(path);
});
