import { z } from 'zod';
import { idText } from '../json.js';
import { INTERRUPTION_STATUSES } from './interruption.js';

export const DECIDED_MOST = 100;

/** Decisions about several interruptions, each bound to what was read. */
export const decideMany = z
  .strictObject({
    verdict: z.enum(['approve', 'reject']),
    items: z
      .array(z.strictObject({ id: idText, digest: z.string().min(1).max(100) }))
      .min(1)
      .max(DECIDED_MOST)
      .describe('Each with the digest of the interruption that was read.'),
    message: z.string().min(1).max(8192).optional().describe('Of each of the decisions.'),
  })
  .meta({ id: 'DecideMany' });
export type DecideMany = z.infer<typeof decideMany>;

export const decidedMany = z
  .object({
    items: z.array(
      z.object({
        id: z.string(),
        status: z
          .enum(INTERRUPTION_STATUSES)
          .nullable()
          .describe('`pending`: others must approve as well. Null: the decision was refused.'),
        error: z.object({ code: z.string(), detail: z.string() }).nullable(),
      }),
    ),
  })
  .meta({ id: 'DecidedMany' });
export type DecidedMany = z.infer<typeof decidedMany>;
