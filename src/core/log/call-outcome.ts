import { z } from 'zod';
import { jsonValue } from '../json.js';

/** What a tool does to the world: src/core/tools/tool.ts. */
export const CALL_EFFECTS = ['pure', 'idempotent', 'unsafe'] as const;

/** How a call ended. `refused` means that its body never ran. */
export const callOutcome = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('output'),
    output: jsonValue,
    text: z
      .string()
      .exactOptional()
      .describe('What the model reads, where that is not `output` as JSON: a plain tool of the SDK gave it.'),
  }),
  z.object({ type: z.literal('error'), code: z.string(), message: z.string() }),
  z.object({
    type: z.literal('refused'),
    why: z.enum(['denied', 'rejected', 'expired', 'invalid_arguments', 'guardrail', 'cancelled']),
    message: z.string(),
  }),
]);
export type CallOutcome = z.infer<typeof callOutcome>;
