import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { Agent } from '@openai/agents';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel, type HoldfastConfig, subAgent } from '../../src/index.js';
import { call, resultsIn, say } from '../harness/script.js';
import { place } from './kill-switch.js';

/** Three runs, one below the other: the middle one pays before and after an approval, the lowest only looks. */

const effectsFile = process.env['EFFECTS_FILE'] ?? '';

/** What the world has seen of a tool, one line per execution. */
export const effects = (name: string): string[] =>
  existsSync(effectsFile)
    ? readFileSync(effectsFile, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith(`${name}:`))
    : [];

const effectTool = (name: string, effect: 'idempotent' | 'unsafe', approval = false) =>
  defineTool({
    ...{ name, description: `Does ${name}.`, effect, approval },
    input: z.object({ n: z.number() }),
    output: z.object({ done: z.string() }),
    execute: ({ n }, { callId }) => {
      place(`${name}:before`);
      appendFileSync(effectsFile, `${name}:${callId}\n`);
      place(`${name}:after`);
      return { done: `${name} ${n}` };
    },
  });

type Output = ReturnType<typeof call>[];

/** Says the n-th list of calls when all before are answered; after the last: the results. */
const model = (name: string, turns: readonly Output[]) =>
  functionModel(name, async (request) => {
    const results = resultsIn(request.input);
    let before = 0;
    const at = turns.findIndex((output) => {
      before += output.length;
      return results.length < before;
    });
    place(`${name}:${at < 0 ? turns.length : at}:inside`);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return turns[at] ?? [say(results.map(({ callId, text }) => `${callId}=${text}`).join(' | '))];
  });

const delegated = ['note', 'pay', 'transfer', 'look', 'check'].map((name) => ({
  ...{ capability: `tool:call:${name}`, effect: 'allow' as const, delegate: true },
}));

export const TOOLS = ['note', 'pay', 'transfer', 'look'] as const;

export const PLACES = [
  ...['lead:0:inside', 'note:before', 'note:after', 'clerk:0:inside', 'pay:before', 'pay:after', 'checker:0:inside'],
  ...['look:before', 'look:after', 'checker:1:inside', 'clerk:1:inside', 'transfer:before', 'transfer:after'],
  ...['clerk:2:inside', 'lead:1:inside'],
];

export const config: HoldfastConfig = {
  agents: [
    defineAgent({
      agent: new Agent({
        name: 'lead',
        model: model('lead', [[call('clerk', { input: 'pay them' }), call('note', { n: 1 })]]),
        tools: [effectTool('note', 'idempotent'), subAgent({ agent: 'clerk', onFailure: 'fail' })],
      }),
      grants: ['tool:call:clerk', ...delegated],
    }),
    defineAgent({
      agent: new Agent({
        name: 'clerk',
        model: model('clerk', [[call('pay', { n: 2 }), call('check', { input: 'it' })], [call('transfer', { n: 3 })]]),
        tools: [
          ...[effectTool('pay', 'unsafe'), effectTool('transfer', 'unsafe', true)],
          subAgent({ agent: 'checker', name: 'check' }),
        ],
      }),
      grants: delegated,
    }),
    defineAgent({
      agent: new Agent({
        name: 'checker',
        model: model('checker', [[call('look', { n: 4 })]]),
        tools: [effectTool('look', 'idempotent')],
      }),
      grants: delegated,
    }),
  ],
};
