import type { ModelResponse } from '@openai/agents';
import { chargedUsage } from './answer-terms.js';
import type { ProbeRow } from './probe-model.js';

/** What one answer is charged for, beside what its server said. */
export interface ProbedUsage {
  /** Null: the server did not count. */
  readonly charged: { readonly inputTokens: number; readonly outputTokens: number } | null;
  /** Null: the server gave no total. */
  readonly total: number | null;
}

/** What the APIs call the total of one answer. */
const TOTALS = ['total_tokens', 'totalTokens', 'totalTokenCount'];

export function probedUsage(response: ModelResponse): ProbedUsage {
  const { rawUsage = {} } = response;
  const totals = TOTALS.map((name) => rawUsage[name]).filter((count) => typeof count === 'number');
  const { inputTokens, outputTokens } = chargedUsage(response) ?? { inputTokens: 0, outputTokens: 0 };
  const charged = inputTokens + outputTokens === 0 ? null : { inputTokens, outputTokens };
  return { charged, total: totals[0] ?? null };
}

const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);

/** Whether the tokens that are charged are those that the server counts. */
export function usageRow(usages: readonly ProbedUsage[]): ProbeRow {
  const counted = usages.flatMap(({ charged }) => charged ?? []);
  const inputTokens = sum(counted.map((one) => one.inputTokens));
  const outputTokens = sum(counted.map((one) => one.outputTokens));
  const row = { check: 'usage', ms: null, inputTokens, outputTokens };
  const unknown = usages.length - counted.length;
  if (unknown > 0)
    return {
      ...{ ...row, status: 'warn', detail: `${unknown} of ${usages.length} answers have no count of tokens` },
      wayOut: 'Expect calls without a price: a budget in dollars cannot count them.',
    };
  const totals = usages.flatMap(({ total }) => total ?? []);
  const charged = inputTokens + outputTokens;
  if (totals.length < usages.length)
    return { ...row, status: 'ok', detail: `${charged} tokens are charged; the server gives no total`, wayOut: null };
  const total = sum(totals);
  if (total === charged)
    return { ...row, status: 'ok', detail: `${charged} tokens are charged, as the server counts them`, wayOut: null };
  return {
    ...{ ...row, status: 'warn', detail: `${charged} tokens are charged, and the server counts ${total}` },
    wayOut: 'Compare with the bill of the provider: a budget counts what is charged.',
  };
}
