import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from '@openai/agents';
import { z } from 'zod';
import {
  askHumanTool,
  defineAgent,
  defineTool,
  functionModel,
  sleepTool,
  subAgent,
  type ToolContext,
  waitForEventTool,
} from '../../src/index.js';
import { inPieces } from '../harness/in-pieces.js';
import { call, resultsIn, say, scripted } from '../harness/script.js';
import { enter } from './ledger.js';

/** The agents of the soak. Their models are functions of the conversation, so that every process continues the same run. */

const MODEL_MS = 5;
const PAYMENT_MS = 400;
const input = z.object({ n: z.number() });
const output = z.string();

/** Not at once, so that a process can die before and after. */
const payment = async ({ idempotencyKey, random }: ToolContext): Promise<string> => {
  await sleep(random() * PAYMENT_MS);
  enter(idempotencyKey);
  await sleep(random() * PAYMENT_MS);
  return 'paid';
};

const look = defineTool({
  ...{ name: 'look', description: 'Looks.', input, output, effect: 'pure' },
  execute: async ({ n }) => {
    await sleep(20);
    return `seen ${n}`;
  },
});
const note = defineTool({
  ...{ name: 'note', description: 'Notes.', input, output, effect: 'idempotent' },
  execute: ({ n }) => `noted ${n}`,
});
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input, output, effect: 'unsafe' },
  execute: (_input, context) => payment(context),
});
const transfer = defineTool({
  ...{ name: 'transfer', description: 'Pays what a person has approved.', input, output, effect: 'unsafe' },
  approval: 'It costs money.',
  execute: (_input, context) => payment(context),
});
const fail = defineTool({
  ...{ name: 'fail', description: 'Fails.', input, output, effect: 'pure', onFailure: 'fail' },
  execute: () => {
    throw new Error('it was to fail');
  },
});

const turns = (name: string, count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => [call(name, { n: n + from }, `${name}_${n + from}`)]);

type Script = Parameters<typeof scripted>[0];
type Tools = Agent['tools'];
const worker = (name: string, tools: Tools, script: Script) =>
  new Agent({ name, tools, model: scripted(script, MODEL_MS) });
const agent = (name: string, tools: Tools, script: Script, more: object = {}) =>
  defineAgent({ agent: worker(name, tools, script), grants: ['tool:call:*'], ...more });

/** Waits for a moment, for a person and for an event of its own, which its input names; then pays. */
const waiterModel = functionModel('waiter', ({ input: items }) => {
  const key = JSON.stringify(items).match(/soak-\d+/)?.[0] ?? '';
  const script = [
    call('sleep', { seconds: 1 }),
    call('ask_human', { question: 'May it be paid?', choices: ['yes'] }),
    call('wait_for_event', { name: 'soak', key }),
    call('pay', { n: 0 }, 'pay_0'),
  ];
  return [script[resultsIn(items).length] ?? say('waited')];
});

const talker = inPieces(
  functionModel('talker', () => [say('piece by piece '.repeat(20))]),
  30,
  () => sleep(20),
);

const teller = worker('teller', [look, pay], [...turns('look', 1), ...turns('pay', 2)]);
const delegated = ['look', 'pay'].map((name) => ({
  ...{ capability: `tool:call:${name}`, effect: 'allow' as const, delegate: true },
}));

/** How often a completed run of an agent has paid, where no person refused. */
export const PAYMENTS: Readonly<Record<string, number>> = {
  ...{
    looker: 0,
    payer: 3,
    pair: 2,
    asker: 2,
    clerk: 2,
    lead: 0,
    boss: 2,
    waiter: 1,
    talker: 0,
    failer: 1,
    endless: 0,
  },
};

export const agents = [
  agent('looker', [look, note], [...turns('look', 5), ...turns('note', 3)]),
  agent('payer', [look, pay], [...turns('look', 2), ...turns('pay', 3)]),
  agent('pair', [look, pay], [[...turns('pay', 2), ...turns('look', 1)].flat()]),
  agent('asker', [look, pay, transfer], [...turns('look', 1), ...turns('transfer', 1), ...turns('pay', 1)]),
  defineAgent({
    agent: worker('clerk', [look, pay], [...turns('look', 1), ...turns('pay', 2)]),
    grants: delegated,
  }),
  agent(
    'lead',
    [note, subAgent({ agent: 'clerk', onFailure: 'fail' })],
    [[call('clerk', { input: 'go' }), ...turns('note', 1).flat()]],
    { grants: ['tool:call:note', 'tool:call:clerk', ...delegated] },
  ),
  agent(
    'boss',
    [note, teller.asTool({ toolName: 'ask_teller', toolDescription: 'Asks the teller.' })],
    [[call('ask_teller', { input: 'go' })], ...turns('note', 1)],
  ),
  defineAgent({
    agent: new Agent({
      name: 'waiter',
      tools: [sleepTool(), askHumanTool(), waitForEventTool(), pay],
      model: waiterModel,
    }),
    grants: ['tool:call:pay', 'time:sleep:*', 'human:ask:*', 'event:wait:*'],
  }),
  defineAgent({ agent: new Agent({ name: 'talker', model: talker }), stream: true }),
  agent('failer', [pay, fail], [...turns('pay', 1), ...turns('fail', 1)]),
  agent('endless', [look], turns('look', 100), { maxTurns: 7 }),
];
