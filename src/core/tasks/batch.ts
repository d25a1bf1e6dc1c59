import { z } from 'zod';
import { nameText } from '../json.js';
import { usdText } from '../money.js';
import { resultType } from '../trajectories/trajectory-result.js';
import { passRate } from './pass-rate.js';
import { submitTask, taskStatus } from './task.js';

/** So many tasks are taken of one request. */
export const BATCH_TASKS_MAX = 10_000;

/** A line of a batch. */
export const batchTask = z
  .strictObject({
    ...submitTask.shape,
    key: nameText.optional().describe('Identifies the task in a repeated batch. Default: the number of its line.'),
  })
  .meta({ id: 'BatchTask' });

const line = z.int().min(1).describe('From 1; empty lines count.');

/** A line of the answer to a batch: one for each task, in their order, and last one with the counts. */
export const batchAnswer = z
  .union([
    z.object({
      line,
      id: z.string(),
      runId: z.string().describe('Its first run.'),
      status: z.enum(['submitted', 'known']).describe('`known`: it was submitted before, under the same key.'),
    }),
    z.object({
      line,
      error: z.object({
        code: z.string(),
        message: z.string(),
        fields: z.array(z.object({ pointer: z.string(), detail: z.string() })),
      }),
    }),
    z.object({ end: z.literal(true), submitted: z.int(), known: z.int(), failed: z.int() }),
  ])
  .meta({ id: 'BatchAnswer' });
export type BatchAnswer = z.infer<typeof batchAnswer>;

/** A line as it came: a JSON value, or why it is none. */
export type BatchLine = { readonly line: number } & ({ readonly value: unknown } | { readonly error: Error });

/** Tasks of a batch that are counted; the oldest ones. */
export const BATCH_COUNTED_MOST = 20_000;
/** Bars of a histogram of rewards, from 0 to 1. */
export const REWARD_BARS = 20;
/** Open tasks of a batch that a request cancels. */
export const BATCH_CANCELLED_MOST = 200;

/** A batch as a list shows it. */
export const batchRow = z
  .object({
    key: z.string().describe('The idempotency key of its request.'),
    actor: z.string().describe('Who submitted it first.'),
    submittedAt: z.iso.datetime(),
    lines: z.int().nullable().describe('Of the request that was read whole last; null: none was yet.'),
    refused: z.int().nullable().describe('How many of these lines were refused.'),
    tasks: z.int(),
    open: z.int().describe('Tasks whose run goes on, or for which another run is to follow.'),
    completed: z.int(),
    failed: z.int(),
    cancelled: z.int(),
    atLeast: z.boolean().describe(`It has more tasks than the ${BATCH_COUNTED_MOST} that are counted.`),
    passRate,
    meanReward: z.number().nullable().describe('Of the tasks that completed or failed; none counts as 0.'),
  })
  .meta({ id: 'BatchRow' });
export type BatchRow = z.infer<typeof batchRow>;

export const batchView = z
  .object({
    ...batchRow.shape,
    byStatus: z.record(taskStatus, z.int()),
    byResult: z.record(resultType, z.int()),
    rewards: z
      .array(z.int())
      .length(REWARD_BARS)
      .describe(
        `How many tasks have a reward in each ${REWARD_BARS}th from 0 to 1; what lies outside is in the last one there.`,
      ),
    failures: z
      .array(
        z.object({
          type: resultType,
          name: z.string().describe('The code of an error, a signal below 1, or the reason.'),
          count: z.int(),
          taskId: z.string().describe('The last such task.'),
        }),
      )
      .describe('What tasks did not succeed by, the most frequent first; at most 20, of the newest 2,000 such tasks.'),
    costUsd: usdText.describe('What the model calls of all its runs cost, as far as prices are known.'),
    unpriced: z.int().describe('Runs whose price is not known.'),
    endedLastHour: z.int(),
  })
  .meta({ id: 'Batch' });
export type BatchView = z.infer<typeof batchView>;

export const cancelBatch = z
  .strictObject({ reason: z.string().min(1).max(8192).exactOptional() })
  .meta({ id: 'CancelBatch' });

export const cancelledBatch = z
  .object({
    cancelled: z.int().describe(`Tasks that were asked to stop; at most ${BATCH_CANCELLED_MOST} by a request.`),
    left: z.int().describe('Open tasks that were not asked yet. While there are any, ask again.'),
  })
  .meta({ id: 'CancelledBatch' });
export type CancelledBatch = z.infer<typeof cancelledBatch>;
