import { Agent, run, Usage } from '@openai/agents';
import { expect, test } from 'vitest';
import { createEngine, defineAgent, functionModel, subAgent } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, dataOf, engineFor, kindsOf, restOf, runToRest } from '../../harness/engine.js';
import { call, resultsIn, say } from '../../harness/script.js';

const used = (inputTokens: number, outputTokens: number, cached = 0) =>
  new Usage({
    ...{ inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
    inputTokensDetails: [{ cached_tokens: cached }],
  });

const priced = functionModel('priced', () => ({ output: [say('done')], usage: used(1000, 100, 400) }));
const silent = functionModel('silent', () => ({ output: [say('done')], usage: new Usage() }));
const boss = functionModel('boss', ({ input }) => ({
  output: resultsIn(input).length === 0 ? [call('ask_clerk', { input: 'x' })] : [say('done')],
  usage: used(1000, 100),
}));

const clerk = new Agent({ name: 'clerk', model: priced });
const judge = new Agent({ name: 'judge', model: 'mine/judge' });
const judged = new Agent({
  ...{ name: 'judged', model: priced },
  inputGuardrails: [
    {
      name: 'judge',
      runInParallel: false,
      execute: async () => ({ tripwireTriggered: false, outputInfo: (await run(judge, 'fine?')).finalOutput }),
    },
  ],
});
const PRICE = { inputPerMillion: '1', outputPerMillion: '10', cachedInputPerMillion: '0.1' };
const config = {
  agents: [
    ...[clerk, judged],
    new Agent({ name: 'stranger', model: priced }),
    new Agent({ name: 'silent', model: silent }),
    defineAgent({
      agent: new Agent({
        name: 'boss',
        model: boss,
        tools: [subAgent({ agent: 'clerk', name: 'ask_clerk' })],
      }),
      grants: ['tool:call:ask_clerk'],
    }),
  ],
  providers: { mine: { getModel: () => priced } },
  prices: {
    'mine/judge': PRICE,
    'object/judged': PRICE,
    'object/clerk': PRICE,
    'object/silent': PRICE,
    'object/boss': PRICE,
  },
};

describeEachDatabase('what runs cost', (kind) => {
  const t = engineFor(kind, config);

  const chargesOf = async (id: string) => (await t.engine.listCharges(id, { after: 0, limit: 50 }, ADMIN)).items;

  const over = async (id: string) => {
    for (;;) {
      const run = await restOf(t.engine, id);
      if (run.status !== 'paused') return run;
    }
  };
  const runBoss = async () => over((await t.engine.startRun({ agent: 'boss', input: 'go' }, ADMIN)).id);

  test('an answer is charged by what the provider says, each token once, and the log says the same', async () => {
    const run = await runToRest(t.engine, 'clerk');
    // 600 plain, 400 cached, 100 of output
    expect(run).toMatchObject({ status: 'completed', costUsd: '0.00164' });
    const price = { source: 'config', version: expect.stringMatching(/^[0-9a-f]{12}$/) };
    expect(await chargesOf(run.id)).toMatchObject([
      {
        ...{ turn: 1, attempt: 1, agent: 'clerk', model: 'object/clerk', state: 'settled', costUsd: '0.00164', price },
        usage: { inputTokens: 1000, cachedInputTokens: 400, outputTokens: 100, reasoningTokens: 0 },
      },
    ]);
    expect(await dataOf(t.engine, run.id, 'model.responded')).toMatchObject([{ cost: { usd: '0.00164', price } }]);
    expect(await t.engine.verifyRun(run.id, ADMIN)).toMatchObject({ ok: true, complete: true });
  });

  test('a price that is not known makes a cost that is not known, and is counted', async () => {
    const before = await t.engine.stats(ADMIN);
    const run = await runToRest(t.engine, 'stranger');
    expect(run).toMatchObject({ status: 'completed', costUsd: null });
    expect(await chargesOf(run.id)).toMatchObject([{ state: 'unpriced', costUsd: null, price: null }]);
    expect(await dataOf(t.engine, run.id, 'model.responded')).toMatchObject([{ cost: { usd: null, price: null } }]);
    expect(await t.engine.stats(ADMIN)).toMatchObject({ unpriced: before.unpriced + 1, costUsd: before.costUsd });
  });

  test('a provider that does not say what it used gave nothing for free', async () => {
    const run = await runToRest(t.engine, 'silent');
    expect(run.costUsd).toBeNull();
    expect(await chargesOf(run.id)).toMatchObject([{ state: 'unpriced', usage: null, costUsd: null }]);
  });

  test('a run costs what its sub-agents cost, too', async () => {
    const run = await runBoss();
    // Two turns of its own at 0.002, and one of the clerk.
    expect(await kindsOf(t.engine, run.id)).toContain('child.ended');
    expect(run).toMatchObject({ status: 'completed', costUsd: '0.00564' });
    expect((await chargesOf(run.id)).map(({ turn, costUsd }) => [turn, costUsd])).toEqual([
      [1, '0.002'],
      [2, '0.002'],
    ]);
  });

  test('a run costs what a judge costs that its guardrail runs', async () => {
    const done = await runToRest(t.engine, 'judged');
    expect(done).toMatchObject({ status: 'completed', costUsd: '0.00328' });
    expect((await chargesOf(done.id)).map(({ turn, model, costUsd }) => [turn, model, costUsd])).toEqual([
      [0, 'mine/judge', '0.00164'],
      [1, 'object/judged', '0.00164'],
    ]);
  });

  test('a fork has paid nothing of what its source paid', async () => {
    const source = await runBoss();
    const { items } = await t.engine.listEvents(source.id, { after: 0, limit: 100 }, ADMIN);
    const asked = items.findLast(({ kind }) => kind === 'model.requested')?.seq ?? 0;
    const { id } = await t.engine.forkRun(source.id, { at: asked - 1 }, ADMIN);
    const fork = await over(id);
    expect(fork.status).toBe('completed');
    expect(await chargesOf(id)).toHaveLength(1);
    expect(fork.costUsd).toBe('0.002');
  });

  test('what a tenant has spent is summed up, and pages are whole', async () => {
    const all = await t.engine.listSpend({ by: 'agent', limit: 50 }, ADMIN);
    const names = all.items.map(({ name }) => name);
    expect(names).toEqual(['boss', 'clerk', 'judged', 'silent', 'stranger']);
    expect(all.items.find(({ name }) => name === 'stranger')).toMatchObject({ costUsd: '0', charges: 1, unpriced: 1 });
    const paged: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await t.engine.listSpend({ by: 'agent', limit: 1, ...(cursor && { cursor }) }, ADMIN);
      paged.push(...page.items.map(({ name }) => name));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(paged).toEqual(names);
    const [today] = (await t.engine.listSpend({ by: 'day', limit: 50 }, ADMIN)).items;
    expect(today).toMatchObject({ costUsd: (await t.engine.stats(ADMIN)).costUsd });
    expect(await t.engine.listSpend({ from: '2999-01-01', limit: 50 }, ADMIN)).toMatchObject({ items: [] });
    expect(await t.engine.listSpend({ limit: 50 }, { ...ADMIN, tenant: 'other' })).toMatchObject({ items: [] });
  });
});

test('a price that is none keeps the engine from starting, and is named', async () => {
  const prices = { 'openai/gpt-5': { inputPerMillion: 1.25, outputPerMillion: '10' } } as never;
  const refused = await createEngine({ agents: [], prices, dataDir: '/nowhere' }).catch((error: unknown) => error);
  expect(refused).toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('prices.openai/gpt-5.'),
    fields: expect.arrayContaining([
      expect.objectContaining({ pointer: expect.stringMatching(/^\/prices\/openai~1gpt-5\//) }),
    ]),
  });
});
