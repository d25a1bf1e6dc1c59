import { z } from 'zod';
import { nameText } from '../json.js';

const erasureReason = z.string().trim().min(1).max(1000).describe('Why; kept, so it should name no person.');

export const eraseRun = z
  .strictObject({
    reason: erasureReason,
    family: z.boolean().default(false).describe('Also the runs below it, and forks of any of them.'),
  })
  .meta({ id: 'EraseRun' });
export type EraseRun = z.input<typeof eraseRun>;

/** Why another run still holds something of one that was erased. */
export const copyReason = z.enum(['parent', 'child', 'fork', 'session']);

const copyElsewhere = z.object({ runId: z.string(), why: copyReason }).meta({ id: 'CopyElsewhere' });
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

/** Whom a run is about, such as `customer-4711`. */
export const subjectName = nameText.describe('Whom a run is about, such as `customer-4711`.');
export const subjectNames = z.array(subjectName).min(1).max(20);

export const eraseSubject = z
  .strictObject({
    subject: subjectName,
    reason: erasureReason,
    cancel: z
      .boolean()
      .default(false)
      .describe('Cancel runs of the subject that are not over. Else there may be none.'),
    dryRun: z.boolean().default(false).describe('Only say what would be erased.'),
  })
  .meta({ id: 'EraseSubject' });
export type EraseSubject = z.input<typeof eraseSubject>;

export const subjectErasureView = z
  .object({
    id: z.string().nullable().describe('Null: nothing was asked for but what would be erased.'),
    status: z.enum(['dry_run', 'working', 'done']),
    subject: z.string().nullable().describe('Null when it is done: then it is not known any more.'),
    actor: z.string(),
    reason: z.string(),
    erased: z.int().describe('Runs that were erased by now.'),
    left: z.int().describe('Runs of the subject that are not erased yet.'),
    notOver: z.array(z.string()).describe('Ids of those of them that are not over, 20 at most.'),
    exports: z
      .array(z.string())
      .describe('Ids of exports that were completed before and have runs in them that it erased, 100 at most.'),
    requestedAt: z.iso.datetime().nullable(),
    finishedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'SubjectErasure' });
export type SubjectErasureView = z.infer<typeof subjectErasureView>;
