import type { ModelProvider, ModelRequest } from '@openai/agents';
import { z } from 'zod';
import { type FunctionModelAnswer, functionModel } from '../models/providers/function-model.js';
import type { TreasurerAnswer } from './agent.js';
import { amountText, countedRows, type LedgerRow, parseLedger } from './ledger.js';
import { payment } from './pay.js';
import { type Total, totals } from './sum-expenses.js';

/** A tool call that a model asked for, with its result if there is one. */
interface PastCall {
  readonly tool: string;
  readonly arguments: unknown;
  readonly result: string | null;
}

/** The tool calls of a conversation so far, in order. */
function pastCalls({ input }: ModelRequest): readonly PastCall[] {
  if (typeof input === 'string') return [];
  const results = new Map<string, string>();
  for (const item of input) if (item.type === 'function_call_result') results.set(item.callId, textOf(item.output));
  return input.flatMap((item) =>
    item.type === 'function_call'
      ? [{ tool: item.name, arguments: parsed(item.arguments), result: results.get(item.callId) ?? null }]
      : [],
  );
}

/** JSON, or null for what is not. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function textOf(output: unknown): string {
  if (typeof output === 'string') return output;
  if (Array.isArray(output)) return output.map(textOf).join('\n');
  const text: unknown = typeof output === 'object' && output !== null ? Reflect.get(output, 'text') : undefined;
  return typeof text === 'string' ? text : JSON.stringify(output);
}

export const SCRIPTED_MODEL = 'scripted/treasurer';
const ANSWERS_AFTER_MS = 800;

/** Serves the one scripted model, whatever its name after the prefix. */
export const scriptedProvider: ModelProvider = {
  getModel: () => functionModel(SCRIPTED_MODEL, respond, { delayMs: ANSWERS_AFTER_MS }),
};

const listing = z.object({ entries: z.array(z.object({ name: z.string(), type: z.string() })) });
const content = z.object({ content: z.string() });

/**
 * Does the treasurer's job by rule: what it asks for follows from what the tools gave it, and from nothing else, so that it
 * asks the same again after a restart.
 */
function respond(request: ModelRequest): FunctionModelAnswer {
  const calls = pastCalls(request);
  const directory = /directory "([^"]+)"/.exec(request.systemInstructions ?? '')?.[1] ?? '';
  const listed = resultOf(calls, 'list_files', listing);
  if (listed === undefined) return ask(['list_files', { path: directory }]);
  if (listed === null) return giveUp('The files could not be listed.');
  const files = listed.entries.filter(({ type }) => type === 'file').map(({ name }) => `${directory}/${name}`);
  if (!calls.some(({ tool }) => tool === 'read_file'))
    return ask(...files.map((path) => ['read_file', { path }] as const));
  const rows = ledgerAmong(calls);
  if (rows === null) return giveUp('The ledger could not be read.');
  const lines = countedRows(rows).map(({ employee, amount, currency }) => ({ employee, amount, currency }));
  const summed = resultOf(calls, 'sum_expenses', totals);
  if (summed === undefined) return ask(['sum_expenses', { lines }]);
  if (summed === null) return giveUp('The expenses could not be added up.');
  const next = summed.totals[calls.filter(({ tool }) => tool === 'pay').length];
  if (next !== undefined) return ask(['pay', argumentsOf(next)]);
  return say(answerOf(summed.totals, calls, rows));
}

/** The result of the first call of a tool: undefined before there is one, null when it is not what the tool gives. */
function resultOf<T>(calls: readonly PastCall[], tool: string, schema: z.ZodType<T>): T | null | undefined {
  const call = calls.find((one) => one.tool === tool);
  if (call === undefined) return undefined;
  return schema.safeParse(parsed(call.result ?? '')).data ?? null;
}

function ledgerAmong(calls: readonly PastCall[]): readonly LedgerRow[] | null {
  for (const { tool, result } of calls) {
    const text = tool === 'read_file' ? content.safeParse(parsed(result ?? '')).data?.content : undefined;
    if (text?.startsWith('report,') === true) return parseLedger(text);
  }
  return null;
}

const argumentsOf = ({ employee, total, currency }: Total) => ({
  payee: employee,
  amount: total,
  currency,
  reference: 'expenses-2026-06',
});

function answerOf(due: readonly Total[], calls: readonly PastCall[], rows: readonly LedgerRow[]): TreasurerAnswer {
  const paid: TreasurerAnswer['paid'] = [];
  const notPaid: TreasurerAnswer['notPaid'] = [];
  const tried = calls.filter(({ tool }) => tool === 'pay');
  for (const [index, { employee, total, currency }] of due.entries()) {
    const result = tried[index]?.result ?? '';
    const made = payment.safeParse(parsed(result)).data;
    const line = { payee: employee, amount: total, currency };
    if (made === undefined) notPaid.push({ ...line, reason: result });
    else paid.push({ ...line, payment: made.payment });
  }
  for (const { employee, amount, currency, receipt } of rows) {
    if (receipt === 'no') notPaid.push({ payee: employee, amount, currency, reason: 'A line without a receipt.' });
  }
  const sums = paid.map(({ payee, amount, currency }) => `${amountText(amount, currency)} to ${payee}`);
  const summary = `Paid ${sums.join(', ') || 'nothing'}; ${notPaid.length} not paid.`;
  return { paid, notPaid, summary };
}

const giveUp = (summary: string): FunctionModelAnswer => say({ paid: [], notPaid: [], summary });

const ask = (...calls: readonly (readonly [name: string, args: object])[]): FunctionModelAnswer =>
  calls.map(([name, args]) => ({
    type: 'function_call',
    callId: '',
    name,
    arguments: JSON.stringify(args),
    status: 'completed',
  }));

const say = (answer: TreasurerAnswer): FunctionModelAnswer => [
  {
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: JSON.stringify(answer) }],
  },
];
