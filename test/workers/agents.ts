import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from '@openai/agents';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel, sleepTool, subAgent } from '../../src/index.js';
import { call, resultsIn, say, scripted, textOf } from '../harness/script.js';

/** The ledger: one line for each payment that the world has seen. */
const LEDGER = process.env['LEDGER'] ?? '';

export const payments = (ledger: string): readonly string[] =>
  existsSync(ledger) ? readFileSync(ledger, 'utf8').trim().split('\n') : [];

const input = z.object({ n: z.number() });
const output = z.string();

const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', input, output, effect: 'unsafe' },
  execute: async ({ n }, { idempotencyKey }) => {
    await sleep(10);
    appendFileSync(LEDGER, `${idempotencyKey}\n`);
    await sleep(10);
    return `paid ${n}`;
  },
});
const transfer = defineTool({
  ...{ name: 'transfer', description: 'Pays what a person has approved.', input, output, effect: 'unsafe' },
  approval: 'It costs money.',
  execute: async ({ n }, { idempotencyKey }) => {
    await sleep(10);
    appendFileSync(LEDGER, `${idempotencyKey}\n`);
    await sleep(10);
    return `transferred ${n}`;
  },
});
const look = defineTool({
  ...{ name: 'look', description: 'Looks.', input, output, effect: 'pure' },
  execute: async ({ n }) => {
    await sleep(100);
    return `seen ${n}`;
  },
});
const die = defineTool({
  ...{ name: 'die', description: 'Ends the process that calls it.', input, output, effect: 'pure' },
  execute: async () => {
    process.kill(process.pid, 'SIGKILL');
    return sleep(60_000, 'never');
  },
});

const note = defineTool({
  ...{ name: 'note', description: 'Notes which process runs it.', input, output, effect: 'pure' },
  execute: async ({ n }) => {
    appendFileSync(noted(LEDGER), `${process.pid}\n`);
    return `noted ${n}`;
  },
});

const wait = defineTool({
  ...{ name: 'wait', description: 'Waits until the test lets it go.', input, output, effect: 'pure' },
  timeoutMs: 300_000,
  execute: async () => {
    appendFileSync(begun(LEDGER), 'x');
    while (!existsSync(goAhead(LEDGER))) await sleep(50);
    return 'gone';
  },
});

/** Has a line for each body of `noter`: the process that ran it. */
export const noted = (ledger: string): string => `${ledger}.noted`;

/** Has a letter for each time that a waiter began to wait. */
export const begun = (ledger: string): string => `${ledger}.begun`;

/** Where it is, waiters go on. */
export const goAhead = (ledger: string): string => `${ledger}.go`;

const turns = (name: string, count: number) =>
  Array.from({ length: count }, (_, n) => [call(name, { n }, `${name}_${n}`)]);

/** A payment after a look of 300 ms. */
const slowly = (n: number) =>
  [0, 1, 2].map((m) => [call('look', { n }, `look_${n}_${m}`)]).concat([[call('pay', { n }, `pay_${n}`)]]);

const agent = (name: string, tools: Agent['tools'], outputs: Parameters<typeof scripted>[0]) =>
  defineAgent({ agent: new Agent({ name, tools, model: scripted(outputs, 5) }), grants: ['tool:call:*'] });

/** Sleeps until each of the times that its input has, all at once. */
const alarmed = functionModel('alarmed', ({ input: items }) => {
  const [first] = typeof items === 'string' ? [{ content: items }] : (items as readonly { content?: unknown }[]);
  const times: readonly string[] = JSON.parse(textOf(first?.content));
  return resultsIn(items).length > 0 ? [say('awake')] : times.map((until, n) => call('sleep', { until }, `sleep_${n}`));
});

const PAYMENTS = 5;
/** What the ledger holds, in some order, when each payment of these runs of `payer` was made once. */
export const paymentsOf = (runIds: readonly string[]): readonly string[] =>
  runIds.flatMap((id) => Array.from({ length: PAYMENTS }, (_, n) => `${id}:pay_${n}`)).toSorted();

export const agents = [
  agent('payer', [pay, look], [...turns('look', 2), ...turns('pay', PAYMENTS)]),
  agent('clerk', [pay, look], Array.from({ length: PAYMENTS }, (_, n) => slowly(n)).flat()),
  agent(
    'signer',
    [pay, look, transfer],
    [
      ...turns('look', 1),
      [call('transfer', { n: 0 }, 'transfer_0')],
      ...turns('pay', 2),
      [call('transfer', { n: 1 }, 'transfer_1')],
    ],
  ),
  defineAgent({
    agent: new Agent({ name: 'alarmed', tools: [sleepTool()], model: alarmed }),
    grants: ['time:sleep:*'],
  }),
  agent('noter', [note], turns('note', 40)),
  agent('looker', [look], turns('look', 8)),
  defineAgent({
    agent: new Agent({
      name: 'lead',
      tools: [look, subAgent({ agent: 'looker', onFailure: 'fail' })],
      model: scripted([...turns('look', 2), [call('looker', { input: 'go' })]], 5),
    }),
    grants: ['tool:call:looker', { capability: 'tool:call:look', effect: 'allow', delegate: true }],
  }),
  defineAgent({
    agent: new Agent({
      name: 'sleeper',
      tools: [sleepTool(), pay],
      model: scripted([[call('sleep', { seconds: 3 })], ...turns('pay', 1)], 5),
    }),
    grants: ['tool:call:*', 'time:sleep:*'],
  }),
  defineAgent({
    agent: new Agent({ name: 'spender', tools: [look], model: scripted(turns('look', 1), 1000) }),
    grants: ['tool:call:*'],
  }),
  agent('waiter', [wait], turns('wait', 1)),
  agent('poison', [look, die], [...turns('look', 1), ...turns('die', 1)]),
];

/** What the model of `spender` costs. */
export const prices = { 'object/spender': { inputPerMillion: '1', outputPerMillion: '1' } };
