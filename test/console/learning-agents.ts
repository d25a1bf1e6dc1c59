import { Agent } from '@openai/agents';
import { defineAgent, memorySpace, memoryTools } from '../../src/index.js';
import { functionModel } from '../../src/library/models.js';
import { call, outputAfter, say } from '../harness/script.js';
import type { Answer } from '../http/door.js';
import { HOSTILE } from './agents.js';

/** Agents that change: one that patches may change, and one that remembers. */

const facts = memorySpace({ name: 'facts', scope: 'tenant' });

/** Is polite where its instructions say so. */
const greeter = functionModel('greeter', async ({ systemInstructions }) => [
  say(systemInstructions?.includes('please') === true ? 'please wait' : 'wait'),
]);

const keeper = functionModel('keeper', async ({ input }) =>
  outputAfter(
    [
      [call('remember', { space: 'facts', key: 'tea', content: '{"kind":"green","cups":1}' }, 'k1')],
      [call('recall', { space: 'facts', key: 'tea' }, 'k2')],
      [call('remember', { space: 'facts', key: '<img src=x onerror=alert(1)>', content: HOSTILE }, 'k3')],
      [call('revise', { space: 'facts', key: 'tea', changes: [{ op: 'add', path: '/cups', value: '2' }] }, 'k4')],
      [say('I keep it in mind.')],
    ],
    input,
  ),
);

export const LEARNING_AGENTS = [
  defineAgent({ agent: new Agent({ name: 'greeter', instructions: 'Answer.\nBe short.', model: greeter }) }),
  defineAgent({
    agent: new Agent({ name: 'keeper', model: keeper, tools: [...memoryTools(facts)] }),
    ...{ grants: ['memory:read:*', 'memory:write:*', 'tool:call:*'], memory: [facts] },
  }),
];

export const EVOLUTION = { agents: ['greeter'], approvals: 1 };

type Ask = (actor: 'otto', method: string, path: string, body?: unknown) => Promise<Answer>;

/** The run that proposes to say please, with texts that must never be more than text. */
export async function proposePoliteness(ask: Ask): Promise<string> {
  const { json } = await ask('otto', 'GET', '/api/v1/evolution/greeter');
  const { definitionHash: base } = json as { readonly definitionHash: string };
  const patch = [{ op: 'replace', path: '/instructions', value: `Say please.\nBe short.\n${HOSTILE}` }];
  const cases = ['a', 'b', 'c'].map((input) => ({ input, expect: { contains: 'please' } }));
  const input = JSON.stringify({ agent: 'greeter', base, patch, reason: HOSTILE, cases, share: 50 });
  const run = await ask('otto', 'POST', '/api/v1/runs', { agent: 'evolve', input });
  return (run.json as { readonly id: string }).id;
}
