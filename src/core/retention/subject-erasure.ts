import { z } from 'zod';
import { nameText } from '../json.js';
import { erasureReason } from './erasure.js';

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
