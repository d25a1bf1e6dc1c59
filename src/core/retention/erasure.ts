import { z } from 'zod';

export const erasureReason = z.string().trim().min(1).max(1000).describe('Why; kept, so it should name no person.');

export const eraseRun = z
  .strictObject({
    reason: erasureReason,
    family: z.boolean().default(false).describe('Also the runs below it, and forks of any of them.'),
  })
  .meta({ id: 'EraseRun' });
export type EraseRun = z.input<typeof eraseRun>;

/** Why another run still holds something of one that was erased. */
export const copyReason = z.enum(['parent', 'child', 'fork', 'session']);

export const copyElsewhere = z.object({ runId: z.string(), why: copyReason }).meta({ id: 'CopyElsewhere' });
export type CopyElsewhere = z.infer<typeof copyElsewhere>;

export const erasureView = z
  .object({
    runId: z.string(),
    erasedAt: z.iso.datetime(),
    actor: z.string().describe('Who erased it first.'),
    reason: z.string(),
    erased: z.array(z.string()).describe('Ids of the runs that this request erased, in their order.'),
    copies: z
      .array(copyElsewhere)
      .describe('Runs that hold copies of it and are not erased: those next to it, 100 at most.'),
    exports: z
      .array(z.string())
      .describe('Ids of exports that were completed before and have it in them, 100 at most.'),
  })
  .meta({ id: 'Erasure' });
export type ErasureView = z.infer<typeof erasureView>;
