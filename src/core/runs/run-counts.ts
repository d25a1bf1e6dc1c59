import { z } from 'zod';
import { idText } from '../json.js';
import { RUN_STATUSES, runStatus } from './run.js';

/** Counting stops there, for each status. */
export const COUNTED_MOST = 10_000;

const counted = z.object({
  name: z.string(),
  count: z.int(),
  lastAt: z.iso.datetime(),
  runId: z.string().describe('The newest of them.'),
});

export const runCounts = z
  .object({
    byStatus: z.object(
      Object.fromEntries(RUN_STATUSES.map((status) => [status, z.int()])) as Record<
        (typeof RUN_STATUSES)[number],
        z.ZodInt
      >,
    ),
    byError: z.array(counted).describe('Of the newest failed ones: the 20 codes with the most.'),
    byHour: z
      .array(z.object({ at: z.iso.datetime(), ended: z.int(), failed: z.int() }))
      .describe('Of the newest 10,000 that ended in the last 24 hours: how many did in each hour.'),
    atLeast: z.boolean().describe('Whether a count stopped at 10,000.'),
  })
  .meta({ id: 'RunCounts' });
export type RunCounts = z.infer<typeof runCounts>;

export const BULK_MOST = 100;

export const bulkRequest = z
  .strictObject({
    action: z.enum(['cancel', 'retry']),
    ids: z.array(idText).min(1).max(BULK_MOST),
    reason: z.string().min(1).max(8192).optional().describe('Why the runs are cancelled.'),
  })
  .meta({ id: 'BulkRuns' });
export type BulkRequest = z.infer<typeof bulkRequest>;

export const bulkResult = z
  .object({
    items: z.array(
      z.object({
        id: z.string(),
        run: z
          .object({ id: z.string(), status: runStatus })
          .nullable()
          .describe('The cancelled run, or the run that tries again; null: it was refused.'),
        error: z.object({ code: z.string(), detail: z.string() }).nullable(),
      }),
    ),
  })
  .meta({ id: 'BulkResult' });
export type BulkResult = z.infer<typeof bulkResult>;

const familyRun = z.object({
  id: z.string(),
  parentRunId: z.string().nullable(),
  callId: z.string().nullable().describe('The call of the parent that started it.'),
  forkedFrom: z.object({ runId: z.string(), seq: z.int() }).nullable(),
  agent: z.string(),
  status: runStatus,
  createdAt: z.iso.datetime(),
  completedAt: z.iso.datetime().nullable(),
});

export const FAMILY_MOST = 1000;

export const runFamily = z
  .object({
    items: z.array(familyRun).describe('The run, those above and below it, and forks of any of them; oldest first.'),
    more: z.boolean().describe('Whether there are more than 1,000.'),
  })
  .meta({ id: 'RunFamily' });
export type RunFamily = z.infer<typeof runFamily>;
