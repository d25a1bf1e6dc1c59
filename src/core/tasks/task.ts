import { z } from 'zod';
import { integrity } from '../integrity.js';
import { jsonObject, jsonValue, nameText } from '../json.js';
import { errorView, RUN_STATUSES, runStatus, startRun } from '../runs/run.js';
import { resultType, scoreBounds, trajectoryResult } from '../trajectories/trajectory-result.js';
import { taskDefinition } from './task-definition.js';

/** The idempotency key under which tasks were submitted together names their batch. */
export const batchKey = z.string().regex(/^[\x21-\x7e]{1,255}$/, 'expected 1 to 255 visible ASCII characters');

export const TASK_STATUSES = RUN_STATUSES;
export const taskStatus = runStatus;

/** A definition that was submitted before, by its names; of several with the same the last one. */
const namedTask = z.strictObject({
  ...{ name: taskDefinition.shape.name, version: taskDefinition.shape.version },
  // What has one is a definition, and is told what is wrong with it.
  instruction: z.never().exactOptional(),
});

export const submitTask = z
  .strictObject({
    task: z.union([taskDefinition, namedTask]).describe('A definition, or name and version of one that is known.'),
    agent: startRun.shape.agent,
    parameters: z
      .record(z.string(), jsonValue)
      .optional()
      .describe('Of its template. What is left out is the default, or comes from the seed.'),
    seed: z
      .int()
      .min(0)
      .optional()
      .describe('What is random in the task follows from it; not for agents. Without: one of its own.'),
    image: taskDefinition.shape.environment.shape.image.optional().describe('In place of that of the definition.'),
    reward: nameText
      .optional()
      .describe('A reward function of the configuration, which gives the reward in place of the weighted signals.'),
    priority: startRun.shape.priority,
    metadata: jsonObject.optional().describe('Kept with the run as it is; 16 KiB at most.'),
  })
  .meta({ id: 'SubmitTask' });
export type SubmitTask = z.input<typeof submitTask>;

const taskAttempt = z.object({
  runId: z.string(),
  status: runStatus,
  error: errorView.nullable().describe('Why it failed.'),
  createdAt: z.iso.datetime(),
  completedAt: z.iso.datetime().nullable(),
});
export type TaskAttempt = z.infer<typeof taskAttempt>;

export const taskView = z
  .object({
    id: z.string(),
    tenant: z.string(),
    name: z.string(),
    version: z.string(),
    definitionHash: z.string(),
    category: z.string(),
    difficulty: taskDefinition.shape.difficulty,
    tags: z.array(z.string()),
    agent: z.string(),
    parameters: jsonObject,
    seed: z.int(),
    image: z.string().nullable().describe('In place of that of the definition; null: that one.'),
    rewardFunction: z.string().nullable().describe('What gives its reward; null: the weighted signals.'),
    priority: z.int(),
    batch: z.string().nullable().describe('The key of the batch that it came in; null: it came alone.'),
    status: taskStatus.describe('That of the run which executes it now.'),
    runId: z.string().describe('The run that executes it, or did last; its trajectory has the same id.'),
    attempts: z.int().describe('How many runs of it there were.'),
    requeues: z.int().describe('How often a person has put it back.'),
    dead: z.boolean().describe('It failed by an error and no attempt follows by itself: it can be put back.'),
    result: trajectoryResult.nullable().describe('Null: it is not over.'),
    reward: z.number().nullable(),
    verificationPassed: z.boolean().nullable().describe('Null: nothing was verified.'),
    metadata: jsonObject,
    tried: z
      .array(taskAttempt)
      .exactOptional()
      .describe(
        'Its runs, the newest first and at most 100; in lists they are left out, but for dead tasks, where they are 10.',
      ),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
    retryAt: z.iso.datetime().nullable().describe('When its next attempt is due; null: none is to follow.'),
    completedAt: z.iso.datetime().nullable(),
    integrity: integrity.describe(
      'Of its run, and what of its own row cannot be read. What else its row says is compared with nothing.',
    ),
  })
  .meta({ id: 'Task' });
export type TaskView = z.infer<typeof taskView>;

export const requeueTask = z
  .strictObject({
    attempts: z
      .int()
      .min(1)
      .exactOptional()
      .describe(
        'How many it has had. With another number nothing is done, so that the same request again does nothing more.',
      ),
  })
  .meta({ id: 'RequeueTask' });
export type RequeueTask = z.infer<typeof requeueTask>;

/** What narrows a list of tasks; all of it must fit. */
export const taskFilter = z.strictObject({
  status: taskStatus.exactOptional(),
  name: nameText.exactOptional(),
  category: nameText.exactOptional(),
  difficulty: taskDefinition.shape.difficulty.exactOptional(),
  agent: nameText.exactOptional(),
  tag: nameText.exactOptional(),
  result: resultType.exactOptional(),
  batch: batchKey.exactOptional().describe('Only tasks of this batch.'),
  ...scoreBounds,
  dead: z.literal('true').exactOptional().describe('Only those that can be put back, with their runs.'),
});
export type TaskFilter = z.infer<typeof taskFilter>;
