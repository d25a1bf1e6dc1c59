import { Agent, tool } from '@openai/agents';
import { z } from 'zod';
import type { JsonValue } from '../../../src/core/json.js';
import { defineAgent, defineTool, type Engine, subAgent, waitFor } from '../../../src/index.js';
import { BOB } from '../../harness/engine.js';
import { call, say, scripted } from '../../harness/script.js';

/** Agents of every kind, whose runs pause more than once, and the person who decides for them: what is said of a call is in its id. */

/** What bodies and guardrails did. */
export const did: string[] = [];

const input = z.object({ n: z.number() });
const output = z.object({ done: z.string() });
const shape = { description: 'Does one thing.', input, output };
const note = (what: string) => {
  did.push(what);
  return { done: what };
};
/** By the last digit of n: above 4 needs an approval, 1 never comes back. */
const needsApproval = (n: number) => n % 10 > 4;

const look = defineTool({ ...shape, name: 'look', effect: 'pure', execute: ({ n }) => note(`look ${n}`) });
const pay = defineTool({
  ...{ ...shape, name: 'pay', effect: 'unsafe', timeoutMs: 60 },
  approval: ({ n }) => needsApproval(n) && `${n} is much`,
  execute: async ({ n }, { signal }) => {
    const done = note(`pay ${n}`);
    if (n % 10 === 1)
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('late'))));
    return done;
  },
});
const sign = defineTool({
  ...{ ...shape, name: 'sign', approval: true, approvals: 2 },
  execute: ({ n }) => note(`sign ${n}`),
});
const plain = tool({
  ...{ name: 'plain', description: 'A tool of a plain SDK program.', parameters: input },
  needsApproval: async (_context, { n }) => needsApproval(n),
  inputGuardrails: [
    {
      name: 'no threes',
      run: async ({ toolCall }) => {
        did.push(`guard ${toolCall.arguments}`);
        return toolCall.arguments.includes('3}')
          ? { behavior: { type: 'rejectContent' as const, message: 'No threes.' } }
          : { behavior: { type: 'allow' as const } };
      },
    },
  ],
  execute: async ({ n }) => note(`plain ${n}`).done,
});
const question = defineTool({
  ...{ name: 'question', description: 'Asks.', input, output: z.string() },
  execute: ({ n }) => {
    note(`question ${n}`);
    return waitFor({ kind: 'question', text: 'Which?' });
  },
});
/** An agent behind a tool that is suspended in the middle of its work: by a question, and by an approval. */
const clerk = (name: string, calls: readonly ReturnType<typeof call>[]) =>
  new Agent({ name, model: scripted(calls.map((one) => [one])), tools: [look, question, pay] }).asTool({
    ...{ toolName: name, toolDescription: 'Does the work of a clerk.' },
  });
const asker = clerk('asker', [call('look', { n: 900 }, 'k1'), call('question', { n: 901 }, 'k2')]);
const payer = clerk('payer', [
  call('look', { n: 910 }, 'k1'),
  call('pay', { n: 915 }, 'edit'),
  call('pay', { n: 919 }, 'k3'),
]);
const work = subAgent({ agent: 'worker', name: 'work' });

const tools = [look, pay, sign, plain, question, asker, payer, work];
const grants = [
  'tool:call:*',
  ...['look', 'pay'].map((name) => ({ capability: `tool:call:${name}`, effect: 'allow' as const, delegate: true })),
];
type Script = Parameters<typeof scripted>[0];
const agent = (name: string, outputs: Script) =>
  defineAgent({ agent: new Agent({ name, model: scripted(outputs), tools }), grants });
const SCRIPTS: Readonly<Record<string, Script>> = {
  approvals: [
    [call('pay', { n: 15 }, 'a'), call('pay', { n: 16 }, 'reject'), call('look', { n: 10 }, 'c')],
    [call('look', { n: 12 }, 'd')],
    [call('pay', { n: 19 }, 'last')],
  ],
  edits: [
    [call('pay', { n: 25 }, 'edit'), call('look', { n: 20 }, 'b')],
    [call('plain', { n: 26 }, 'edit_2')],
    [call('pay', { n: 29 }, 'last')],
  ],
  several: [[call('sign', { n: 30 }, 'two'), call('look', { n: 31 }, 'b')], [call('sign', { n: 32 }, 'two_edit')]],
  standing: [
    [call('pay', { n: 45 }, 'always')],
    [call('pay', { n: 46 }, 'b'), call('look', { n: 40 }, 'c')],
    [call('pay', { n: 47 }, 'd')],
    [call('sign', { n: 49 }, 'two')],
  ],
  parallel: [
    [call('plain', { n: 50 }, 'a'), call('plain', { n: 53 }, 'b'), call('plain', { n: 55 }, 'c')],
    [call('look', { n: 'x' }, 'd')],
    [call('look', { n: 52 }, 'a')],
    [call('look', '{broken', 'f')],
    [call('pay', { n: 59 }, 'last')],
  ],
  unknown: [
    [call('pay', { n: 65 }, 'p'), call('pay', { n: 61 }, 's'), call('look', { n: 60 }, 'l')],
    [call('pay', { n: 69 }, 'last')],
  ],
  questions: [[call('question', { n: 70 }, 'q'), call('look', { n: 71 }, 'l')], [call('pay', { n: 79 }, 'last')]],
  inside: [
    [call('asker', { input: 'Work.' }, 'c'), call('payer', { input: 'Work.' }, 'p'), call('look', { n: 80 }, 'm')],
    [call('pay', { n: 89 }, 'last')],
  ],
  children: [[call('work', { input: 'Work.' }, 'w'), call('pay', { n: 95 }, 'a')], [call('pay', { n: 99 }, 'last')]],
  talking: [[call('look', { n: 100 }, 'a')], [call('pay', { n: 105 }, 'b')], [call('pay', { n: 109 }, 'last')]],
};
const desk = new Agent({
  name: 'desk',
  model: scripted([
    [call('look', {}, 'h1')],
    [call('look', {}, 'h2')],
    [call('look', { n: 110 }, 'd1')],
    [call('pay', { n: 115 }, 'd2')],
    [call('pay', { n: 119 }, 'last')],
  ]),
  tools,
});
const handing = defineAgent({
  agent: Agent.create({
    name: 'handing',
    model: scripted([[call('look', { n: 111 }, 'h1')], [call('transfer_to_desk', {}, 'h2')]]),
    ...{ tools, handoffs: [desk] },
  }),
  grants,
});
/** Those that are run. */
export const NAMES = [...Object.keys(SCRIPTS), 'handing'];

export const config = {
  turnsPerSegment: 2,
  agents: [
    ...Object.entries(SCRIPTS).map(([name, outputs]) => agent(name, outputs)),
    ...[
      handing,
      agent('worker', [[call('look', { n: 120 }, 'x')], [call('pay', { n: 125 }, 'edit')], [say('worked')]]),
    ],
  ],
};

/** What a person says where an answer is asked for. */
const ANSWERS: Readonly<Record<string, JsonValue>> = { question: 'This.', unknown_effect: { done: 'by hand' } };

/** Decides everything that waits, in all runs. Returns how much that was. */
export async function decideAll(engine: Engine): Promise<number> {
  const { items } = await engine.listInterruptions({ status: 'pending', limit: 200 }, BOB);
  // Ids follow from those of the runs: by them, runs that are the same would be decided in different order. The approval that
  // a parent waits for itself comes before those of its child, which may end in that moment.
  const asked = items
    .filter(({ reason }) => reason.code !== 'child_run')
    .sort((a, b) => `${a.callId} ${a.runId}`.localeCompare(`${b.callId} ${b.runId}`));
  for (const { id, callId, reason, arguments: args } of asked) {
    const how = callId ?? '';
    const value = ANSWERS[reason.code];
    const choice = {
      ...{ verdict: 'approve' as const, ...(how === 'always' ? { always: true as const } : {}) },
      ...(how.includes('edit') ? { arguments: { n: (args as { n: number }).n + 1 } } : {}),
    };
    if (value === undefined && how.startsWith('two')) await engine.decide(id, choice, { ...BOB, actor: 'carol' });
    if (value !== undefined) await engine.decide(id, { verdict: 'answer', value }, BOB);
    else await engine.decide(id, how === 'reject' ? { verdict: 'reject', message: 'No.' } : choice, BOB);
  }
  return asked.length;
}
