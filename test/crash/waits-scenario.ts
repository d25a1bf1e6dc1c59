import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { Agent } from '@openai/agents';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel, type HoldfastConfig, waitFor } from '../../src/index.js';
import { place } from './kill-switch.js';

/** An agent whose calls wait inside: one unsafe in stages, one for an event, one beside them that does not wait. */

const effectsFile = process.env['EFFECTS_FILE'] ?? '';

/** What the world has seen of a call, one line per execution. */
export const effects = (name: string): string[] =>
  existsSync(effectsFile)
    ? readFileSync(effectsFile, 'utf8')
        .split('\n')
        .filter((line) => line === name)
    : [];

const act = (name: string): void => {
  place(`${name}:before`);
  appendFileSync(effectsFile, `${name}\n`);
  place(`${name}:after`);
};

const input = z.object({ n: z.number() });

/** Reserves, asks whether it may, waits a moment, and pays: three stages of which none may happen twice. */
const transfer = defineTool({
  ...{ name: 'transfer', description: 'Transfers in stages.', input, output: z.string() },
  execute: ({ n }) => {
    act('reserve');
    return waitFor({ kind: 'question', text: `May ${n} be paid?`, choices: ['yes', 'no'], memo: { n } });
  },
  resume: (_input, settlement) => {
    if (settlement.type === 'answered') {
      act('confirm');
      return waitFor({ kind: 'timer', afterMs: 20, memo: settlement.memo });
    }
    act('pay');
    return `paid ${JSON.stringify(settlement.memo)}`;
  },
});

const receipt = defineTool({
  ...{ name: 'receipt', description: 'Waits for the receipt.', input, output: z.json(), effect: 'pure' },
  execute: ({ n }) => waitFor({ kind: 'event', name: 'receipt', key: String(n) }),
});

const book = defineTool({
  ...{ name: 'book', description: 'Books.', input, output: z.string() },
  execute: ({ n }) => {
    act('book');
    return `booked ${n}`;
  },
});

const call = (name: string, n: number) => ({
  ...{ type: 'function_call' as const, callId: `call_${name}`, name },
  ...{ arguments: JSON.stringify({ n }), status: 'completed' as const },
});

type Item = { readonly type?: string; readonly output?: unknown };

const textOf = (output: unknown): string =>
  typeof output === 'string' ? output : ((output as { text?: string } | null)?.text ?? JSON.stringify(output));

const model = functionModel('scripted', (request) => {
  const items: readonly Item[] = typeof request.input === 'string' ? [] : (request.input as readonly Item[]);
  const results = items.filter((item) => item.type === 'function_call_result');
  place(`model:${results.length}:inside`);
  if (results.length === 0) return [call('transfer', 1), call('receipt', 2), call('book', 3)];
  const text = results.map((item) => textOf(item.output)).join(' | ');
  const said = { content: [{ type: 'output_text' as const, text }], status: 'completed' as const };
  return [{ type: 'message' as const, role: 'assistant' as const, ...said }];
});

export const STAGES = ['reserve', 'confirm', 'pay', 'book'] as const;

export const config: HoldfastConfig = {
  agents: [
    defineAgent({
      agent: new Agent({ name: 'waiter', model, tools: [transfer, receipt, book] }),
      grants: ['tool:call:*'],
    }),
  ],
};
