import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { Agent } from '@openai/agents';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel, type HoldfastConfig } from '../../src/index.js';
import { place } from './kill-switch.js';

/** An agent that takes every way a call can go: pure, idempotent, unsafe, unsafe with a probe, unsafe after an approval. */

const effectsFile = process.env['EFFECTS_FILE'] ?? '';

/** What the world has seen of a tool, one line per execution. */
export const effects = (name: string): string[] =>
  existsSync(effectsFile)
    ? readFileSync(effectsFile, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith(`${name}:`))
    : [];

const shape = { input: z.object({ n: z.number() }), output: z.object({ done: z.string() }) };

/** Looks into the world whether a call happened. */
const probe = async ({ n }: { n: number }) =>
  effects('wire').length > 0
    ? { happened: true as const, output: { done: `wire ${n}` } }
    : { happened: false as const };

type More = { readonly approval?: boolean; readonly probed?: boolean };

const effectTool = (name: string, effect: 'pure' | 'idempotent' | 'unsafe', { approval, probed }: More = {}) =>
  defineTool({
    name,
    description: `Does ${name}.`,
    ...shape,
    effect,
    approval: approval ? `${name} must be approved.` : false,
    ...(probed ? { onUnknownEffect: 'probe' as const, probe } : {}),
    execute: ({ n }, { callId }) => {
      place(`${name}:before`);
      appendFileSync(effectsFile, `${name}:${callId}\n`);
      place(`${name}:after`);
      return { done: `${name} ${n}` };
    },
  });

export const TOOLS = ['look', 'put', 'pay', 'wire', 'transfer'] as const;

type Item = { readonly type?: string; readonly output?: unknown };

const call = (name: string, id: string, n: number) => ({
  type: 'function_call' as const,
  callId: id,
  name,
  arguments: JSON.stringify({ n }),
  status: 'completed' as const,
});

const SCRIPT = [
  [call('look', 'call_look', 1), call('put', 'call_put', 2)],
  [call('pay', 'call_pay', 3), call('wire', 'call_wire', 5)],
  [call('transfer', 'call_transfer', 4)],
];
const RESULTS_BEFORE = [0, 2, 4];

const textOf = (output: unknown): string =>
  typeof output === 'string' ? output : ((output as { text?: string } | null)?.text ?? JSON.stringify(output));

const model = functionModel('scripted', async (request) => {
  const items: readonly Item[] = typeof request.input === 'string' ? [] : (request.input as readonly Item[]);
  const results = items.filter((item) => item.type === 'function_call_result');
  const turn = RESULTS_BEFORE.indexOf(results.length);
  place(`model:${turn < 0 ? 3 : turn}:inside`);
  await new Promise((resolve) => setTimeout(resolve, 5));
  const next = turn < 0 ? undefined : SCRIPT[turn];
  if (next !== undefined) return next;
  const text = results.map((item) => textOf(item.output)).join(' | ');
  return [
    {
      type: 'message' as const,
      role: 'assistant' as const,
      status: 'completed' as const,
      content: [{ type: 'output_text' as const, text }],
    },
  ];
});

export const PLACES = [
  ...['model:0:inside', 'look:before', 'look:after', 'put:before', 'put:after'],
  ...['model:1:inside', 'wire:before', 'wire:after', 'pay:before', 'pay:after'],
  ...['model:2:inside', 'transfer:before', 'transfer:after', 'model:3:inside'],
];

export const config: HoldfastConfig = {
  agents: [
    defineAgent({
      agent: new Agent({
        name: 'matrix',
        model,
        tools: [
          effectTool('look', 'pure'),
          effectTool('put', 'idempotent'),
          effectTool('pay', 'unsafe'),
          effectTool('wire', 'unsafe', { probed: true }),
          effectTool('transfer', 'unsafe', { approval: true }),
        ],
      }),
      grants: TOOLS.map((name) => `tool:call:${name}`),
    }),
  ],
};
