import { RequestUsage, Usage } from '@openai/agents';
import type { OllamaChunk } from './ollama-wire.js';

/** Whether the server counted: it leaves counts out when the whole prompt came from its cache. */
export const isCounted = (last: OllamaChunk): boolean =>
  typeof last.prompt_eval_count === 'number' && typeof last.eval_count === 'number';

/** Cached tokens are a part of the input tokens. Counts that are missing are 0. */
export function ollamaUsage(lasts: readonly OllamaChunk[]): Usage {
  const total = new Usage();
  for (const last of lasts) {
    const inputTokens = last.prompt_eval_count ?? 0;
    const outputTokens = last.eval_count ?? 0;
    const cached = last.prompt_eval_cached_count;
    const counts = {
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      ...(typeof cached === 'number' ? { inputTokensDetails: { cached_tokens: cached } } : {}),
    };
    const entries = lasts.length === 1 ? {} : { requestUsageEntries: [new RequestUsage(counts)] };
    total.add(new Usage({ requests: 1, ...counts, ...entries }));
  }
  return total;
}

/** What the server measured, under its own names; durations are in nanoseconds. */
export function rawUsage(last: OllamaChunk): Record<string, unknown> {
  const { prompt_eval_count, prompt_eval_cached_count, eval_count } = last;
  const { total_duration, load_duration, prompt_eval_duration, eval_duration } = last;
  const all = { prompt_eval_count, prompt_eval_cached_count, eval_count };
  const durations = { total_duration, load_duration, prompt_eval_duration, eval_duration };
  return Object.fromEntries(Object.entries({ ...all, ...durations }).filter(([, value]) => typeof value === 'number'));
}
