import { Agent, Usage } from '@openai/agents';
import type { Knex } from 'knex';
import { defineAgent, functionModel, subAgent } from '../../src/index.js';
import { call, resultsIn, say } from '../harness/script.js';
import { REVIEWER } from './careful-person.js';
import { effectTool } from './effect-tool.js';
import type { Scenario } from './scenario.js';
import { effectsIn, leave } from './world.js';

/** An agent whose model costs something, with a sub-agent on its budget: it has to ask for money before its first call. */
const usage = new Usage({ inputTokens: 1000, outputTokens: 10, totalTokens: 1010 });
const NANOS = 1_010_000;
const PRICE = { inputPerMillion: '1', outputPerMillion: '1' };

/** Leaves a line in the world for each call that reached the provider. */
const paid = (name: string, turns: readonly ReturnType<typeof call>[]) =>
  functionModel(name, async ({ input }) => {
    const turn = resultsIn(input).length;
    leave(`asked-${name}-${turn}`, 'model');
    await new Promise((resolve) => setTimeout(resolve, 5));
    const next = turns[turn];
    return { output: [next ?? say('done')], usage };
  });

const helper = new Agent({
  name: 'helper',
  model: paid('helper', [call('look', { n: 4 })]),
  tools: [effectTool('look', 'idempotent')],
});
const spender = new Agent({
  name: 'spender',
  model: paid('spender', [call('pay', { n: 1 }), call('help', { input: 'it' }), call('note', { n: 2 })]),
  tools: [effectTool('pay', 'unsafe'), effectTool('note', 'idempotent'), subAgent({ agent: 'helper', name: 'help' })],
});
const grants = ['pay', 'note', 'help', 'look'].map((name) => ({
  ...{ capability: `tool:call:${name}`, effect: 'allow' as const, delegate: true },
}));

interface Row {
  readonly run_id: string;
  readonly turn: number;
  readonly state: string;
  readonly nano_usd: string;
  readonly budgets: string;
}

/** What is taken from each budget is what its charges cost, none is open, and no call that reached the provider is missing. */
async function check(knex: Knex): Promise<void> {
  const charges: Row[] = await knex('holdfast.charges').select('run_id', 'turn', 'state', 'nano_usd', 'budgets');
  const budgets: { id: string; nano_usd: string }[] = await knex('holdfast.budgets').select('id', 'nano_usd');
  if (budgets.length !== 2) throw new Error(`${budgets.length} budgets, and not 2`);
  for (const { id, nano_usd: taken } of budgets) {
    const ofIt = charges.filter((charge) => (JSON.parse(charge.budgets) as string[]).includes(id));
    const sum = ofIt.reduce((total, charge) => total + Number(charge.nano_usd), 0);
    if (Number(taken) !== sum) throw new Error(`${taken} are taken from ${id}, and ${sum} were charged`);
  }
  const settled = charges.filter(({ state }) => state === 'settled');
  if (settled.some(({ nano_usd: nanos }) => Number(nanos) !== NANOS)) throw new Error('an answer has another cost');
  const open = charges.filter(({ state }) => state !== 'settled' && state !== 'assumed');
  if (open.length > 0) throw new Error(`${open.length} charges are ${open.map(({ state }) => state).join()}`);
  const turns = new Set(settled.map((charge) => `${charge.run_id} ${charge.turn}`));
  if (turns.size !== 6) throw new Error(`${turns.size} of 6 turns are paid for`);
  const asked = effectsIn(process.env['EFFECTS_FILE'] ?? '').filter((line) => line.startsWith('asked-')).length;
  if (charges.length < asked)
    throw new Error(`the provider was asked ${asked} times, and ${charges.length} are charged`);
  if (settled.length > asked)
    throw new Error(`the provider answered ${asked} times, and ${settled.length} are settled`);
}

const settles = 'returning nano_usd - reserved_nano_usd';

export const money: Scenario = {
  agent: 'spender',
  config: {
    agents: [defineAgent({ agent: spender, grants }), defineAgent({ agent: helper, grants })],
    prices: { 'object/spender': PRICE, 'object/helper': PRICE },
    budgets: { perRun: '1000', perAgent: { spender: { total: '0' } } },
  },
  decide: async (engine, { id, kind }) => {
    if (kind === 'budget') await engine.decide(id, { verdict: 'approve', budget: { usd: '1000' } }, REVIEWER);
    return kind === 'budget';
  },
  check,
  places: [
    ...['spender-0', 'spender-1', 'helper-0', 'helper-1', 'spender-2', 'spender-3'].flatMap((ask) => [
      ...[`asked-${ask}:before`, `asked-${ask}:after`],
    ]),
    'pay:before',
    'pay:after',
  ],
  around: [
    { when: 'after', text: 'insert into holdfast.budgets' },
    { when: 'sent', text: 'greatest(limit_nano_usd' },
    { when: 'sent', text: 'greatest(limit_nano_usd', commit: true },
    { when: 'before', text: settles },
    { when: 'sent', text: settles },
    { when: 'after', text: settles },
  ],
  exactly: { pay: 1 },
  repeated: ['asked-spender-0', 'asked-helper-1', 'note'],
  statements: 190,
};
