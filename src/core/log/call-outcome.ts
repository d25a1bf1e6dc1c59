import { z } from 'zod';
import { type JsonValue, jsonValue } from '../json.js';
import { stateChange } from '../tools/agent-state.js';
import { memoryNote } from '../tools/tool-memory.js';

/** What a tool does to the world: src/core/tools/tool.ts. */
export const CALL_EFFECTS = ['pure', 'idempotent', 'unsafe'] as const;

/** Readings of the clock beyond these are not kept. */
export const MOST_TIMES = 32;

const times = z
  .array(z.number())
  .exactOptional()
  .describe('What `context.now()` gave to its body, in milliseconds since 1970; the first 32.');

const memory = memoryNote
  .exactOptional()
  .describe('What it read and wrote of [memory](agents/memory.md), and labels of what it brought in, if any.');

/** How a call ended. `refused` means that its body never ran. */
export const callOutcome = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('output'),
    output: jsonValue,
    text: z
      .string()
      .exactOptional()
      .describe('What the model reads, where that is not `output` as JSON: a plain tool of the SDK gave it.'),
    state: stateChange.exactOptional().describe('Its changes of the [state](agents/state.md) of the run, if any.'),
    times,
    memory,
  }),
  z.object({ type: z.literal('error'), code: z.string(), message: z.string(), times, memory }),
  z.object({
    type: z.literal('refused'),
    why: z.enum(['denied', 'rejected', 'expired', 'invalid_arguments', 'guardrail', 'cancelled']),
    message: z.string(),
  }),
]);
export type CallOutcome = z.infer<typeof callOutcome>;

/** An outcome with more characters stands in the row of its call, and the step of the call refers to it. */
export const LONG_OUTCOME = 64 * 1024;

/** What a step has in the place of a long outcome. */
export const keptOutcome = z.object({ type: z.literal('kept'), digest: z.string() });
export type KeptOutcomeRef = z.infer<typeof keptOutcome>;

/** Whether an outcome is long. Looks at no more of it than tells. */
export const isLongOutcome = (outcome: CallOutcome): boolean =>
  outcome.type === 'output' &&
  (outcome.text?.length ?? 0) + charactersOf(outcome.output, LONG_OUTCOME + 1) > LONG_OUTCOME;

/** About how many characters a value has as JSON, counted up to `most`. */
function charactersOf(value: JsonValue, most: number): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  let count = 0;
  const add = (more: number): boolean => {
    count += more + 1;
    return count < most;
  };
  if (Array.isArray(value)) {
    for (const item of value) if (!add(charactersOf(item, most - count))) break;
    return count;
  }
  for (const [key, item] of Object.entries(value)) if (!add(key.length + charactersOf(item, most - count))) break;
  return count;
}

/** A long result that the log has, as the model reads it. */
export interface LoggedResult {
  /** The key of its `call.finished`. */
  readonly key: string;
  readonly digest: string;
  /** Null: the one that it was read from keeps it elsewhere. */
  readonly text: string | null;
}

/** A result or an input as text. */
export const textOf = (given: unknown): string => (typeof given === 'string' ? given : JSON.stringify(given));
