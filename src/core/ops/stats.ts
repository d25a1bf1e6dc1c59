import { z } from 'zod';
import { usdText } from '../money.js';
import { RUN_STATUSES } from '../runs/run.js';
import { TASK_STATUSES } from '../tasks/task.js';
import { DIFFICULTIES } from '../tasks/task-definition.js';
import { TRAJECTORY_RESULTS } from '../trajectories/trajectory-result.js';

const ended = z.object({ lastHour: z.int(), lastDay: z.int() });

/** What has become of the tasks of a tenant. */
export const taskStats = z
  .object({
    total: z.int(),
    byStatus: z.record(z.enum(TASK_STATUSES), z.int()),
    byCategory: z.record(z.string(), z.int()).describe('The 100 categories with the most tasks.'),
    byDifficulty: z.record(z.enum(DIFFICULTIES), z.int()),
    byResult: z.record(z.enum(TRAJECTORY_RESULTS), z.int()).describe('Of those that are over.'),
    brokenByAgent: z
      .int()
      .describe('Of the failures, those where the agent broke its own container: agent_broke_environment.'),
    meanReward: z
      .number()
      .nullable()
      .describe(
        'Of those that are over and were not cancelled. One without a reward, such as an error, counts as 0. Null: none is.',
      ),
    passRate: z
      .number()
      .nullable()
      .describe(
        'Share of those that are over, and were not cancelled, that passed, from 0 to 1: an error did not pass. Null: none is.',
      ),
  })
  .meta({ id: 'TaskStats' });

/** How many ended lately, however they ended. */
export const throughput = z.object({ runs: ended, tasks: ended }).meta({ id: 'Throughput' });

/** What is summed up over many rows. */
export const summary = z.object({ tasks: taskStats, throughput });
export type Summary = z.infer<typeof summary>;

const LATE = 'Read every few seconds at most, of the last million; null: the database did not say in time.';

export const stats = z
  .object({
    at: z.iso
      .datetime()
      .describe(
        'When runs, events, tokens and dollars were read. Where that takes over 100 ms, one answer serves for 20 times as long, a minute at most.',
      ),
    runs: z.record(z.enum(RUN_STATUSES), z.int()),
    pendingInterruptions: z.int(),
    events: z.int(),
    totalTokens: z.int(),
    costUsd: usdText.describe('What all model calls cost, as far as prices are known.'),
    unpriced: z.int().describe('How many model calls cost what is not known.'),
    tasks: taskStats.nullable().describe(LATE),
    throughput: throughput.nullable().describe(LATE),
  })
  .meta({ id: 'Stats' });
export type Stats = z.infer<typeof stats>;
