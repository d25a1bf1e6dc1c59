import { z } from 'zod';
import { nameText } from '../json.js';
import { submitTask } from './task.js';

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
