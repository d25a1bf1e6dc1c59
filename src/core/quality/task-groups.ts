import { z } from 'zod';
import { nameText } from '../json.js';
import { usdText } from '../money.js';
import { BATCH_COUNTED_MOST } from '../tasks/batch.js';
import { passRate } from '../tasks/pass-rate.js';
import { batchKey } from '../tasks/task.js';
import { taskDefinition } from '../tasks/task-definition.js';
import { comparison } from './comparison.js';

/** By what tasks are grouped, and which tasks are. */

export const TASK_GROUPINGS = [
  ...(['name', 'agent', 'agentVersion', 'model', 'scaffold', 'category', 'difficulty', 'language'] as const),
  ...(['tag', 'dataset', 'day'] as const),
] as const;
export const taskGrouping = z.enum(TASK_GROUPINGS);
export type TaskGrouping = z.infer<typeof taskGrouping>;

export const GROUPING_TEXT =
  'A model is known of the runs that asked it and are over. A task is in several groups where it has several models, ' +
  'languages, tags or datasets. A language is a tag such as `python` or `language:python`; a day is that in UTC on which ' +
  'the task was submitted.';

/** Tags that name a language of their own; any other language has a tag that begins with `language:`. */
export const LANGUAGES = [
  ...['bash', 'c', 'clojure', 'cpp', 'csharp', 'elixir', 'go', 'haskell', 'java', 'javascript', 'julia', 'kotlin'],
  ...['lua', 'ocaml', 'perl', 'php', 'python', 'r', 'ruby', 'rust', 'scala', 'sql', 'swift', 'typescript', 'zig'],
] as const;

const time = z.iso.datetime({ offset: true });

/** Selects attempts; all of it must fit. */
export const attemptFilter = z.strictObject({
  agent: nameText.exactOptional(),
  name: nameText.exactOptional(),
  category: nameText.exactOptional(),
  difficulty: taskDefinition.shape.difficulty.exactOptional(),
  dataset: z
    .string()
    .max(300)
    .regex(/^[^@]+@[^@]+$/, 'expected a name and a version, such as sorting@1.0.0')
    .exactOptional()
    .describe('Name and version: only the definitions of this dataset.'),
  from: time.exactOptional().describe('Submitted at this time or later.'),
  to: time.exactOptional().describe('Submitted before this time.'),
});
export type AttemptFilter = z.output<typeof attemptFilter>;

/** The same, of a batch or of all. */
const groupFilter = z.strictObject({
  ...attemptFilter.shape,
  batch: batchKey.exactOptional().describe('Only tasks of this batch.'),
});
export type GroupFilter = z.output<typeof groupFilter>;

/** How groups of tasks did, and whether two of them did otherwise than by chance. */

/** Groups that are told, those of the most tasks first. */
export const GROUPS_MOST = 400;
/** Signals of rewards that are told of a group, by their names. */
export const SIGNALS_MOST = 50;

/** What is measured of each task that completed or failed. */
export const TASK_MEASURES = ['reward', 'quality', 'diversity', 'turns', 'tokens', 'activeMs', 'usd'] as const;
export type TaskMeasure = (typeof TASK_MEASURES)[number];

const measured = z.object({
  n: z.int().describe('Tasks whose measure is known.'),
  mean: z.number().nullable().describe('Null: of none.'),
  variance: z.number().nullable().describe('Of the sample. Null: of fewer than two.'),
});
export type Measured = z.infer<typeof measured>;

const MEASURES_TEXT =
  'Of the tasks that completed or failed, by their last run. `reward`: none counts as 0. `quality`, `diversity`: the scores ' +
  'of its trajectory. `turns`: model calls. `tokens`, `usd`: with its child runs; `usd` where every price is known. ' +
  '`activeMs`: milliseconds in which it was neither queued nor paused.';

export const taskGroup = z
  .object({
    name: z.string(),
    tasks: z.int(),
    ended: z.int().describe('Those that completed or failed.'),
    passed: z.int().describe('Those that passed their verification.'),
    passRate,
    meanReward: z.number().nullable(),
    meanTurns: z.number().nullable().describe('Model calls of its last run, of the tasks that completed or failed.'),
    costUsd: usdText.describe('Of their last runs, as far as prices are known.'),
    unpriced: z.int(),
    measures: z.record(z.enum(TASK_MEASURES), measured).describe(MEASURES_TEXT),
    signals: z
      .array(z.object({ name: z.string(), n: z.int(), mean: z.number() }))
      .describe(`The means of the signals of their rewards, by name; at most ${SIGNALS_MOST}.`),
  })
  .meta({ id: 'TaskGroup' });
export type TaskGroup = z.infer<typeof taskGroup>;

const atLeast = z.boolean().describe(`There are more tasks than the newest ${BATCH_COUNTED_MOST}, which are grouped.`);

export const groupQuery = z.strictObject({ ...groupFilter.shape, by: taskGrouping });
export type GroupQuery = z.output<typeof groupQuery>;

export const taskGroups = z.object({ items: z.array(taskGroup), atLeast }).meta({ id: 'TaskGroups' });
export type TaskGroups = z.infer<typeof taskGroups>;

const groupName = z.string().min(1).max(1000);
export const driftQuery = z.strictObject({
  ...groupQuery.shape,
  before: groupName.describe('Name of a group.'),
  after: groupName.describe('Name of the group that is compared with it.'),
});
export type DriftQuery = z.output<typeof driftQuery>;

export const taskDrift = z
  .object({
    by: taskGrouping.describe(GROUPING_TEXT),
    before: taskGroup.nullable().describe('Null: no task is in this group.'),
    after: taskGroup.nullable(),
    measures: z.array(comparison).describe('What both groups have enough tasks for.'),
    drifted: z.boolean().describe('Whether one of them drifted.'),
    atLeast,
  })
  .meta({ id: 'TaskDrift' });
export type TaskDrift = z.infer<typeof taskDrift>;
