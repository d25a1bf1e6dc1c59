import { z } from 'zod';
import { jsonValue } from '../json.js';
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
