import { z } from 'zod';
import { jsonOrNull, jsonValue } from '../json.js';
import type { CallOutcome } from '../log/call-outcome.js';
import type { NodeResult } from './next-turn.js';

/**
 * What a plan gets of a call in place of what a model would read: how it ended, apart from what was said. A text that a person or a
 * tool wrote never passes for an output.
 */
export const textOfOutcome = (outcome: CallOutcome): string => JSON.stringify(resultOf(outcome));

function resultOf(outcome: CallOutcome): NodeResult {
  if (outcome.type === 'output') return { type: 'output', output: outcome.output };
  const code = outcome.type === 'error' ? outcome.code : outcome.why;
  return { type: 'error', code, message: outcome.message };
}

const result = z.discriminatedUnion('type', [
  z.object({ type: z.literal('output'), output: jsonValue }),
  z.object({ type: z.literal('error'), code: z.string(), message: z.string() }),
]);

/** Reads what `textOfOutcome` wrote. What it did not write is an error. */
export function resultIn(text: string): NodeResult {
  const parsed = result.safeParse(jsonOrNull(text));
  return parsed.success
    ? parsed.data
    : { type: 'error', code: 'tool_failed', message: text.slice(0, 4096).toWellFormed() };
}
