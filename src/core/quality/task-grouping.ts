import { z } from 'zod';
import { nameText } from '../json.js';
import { batchKey } from '../tasks/batch-key.js';
import { taskDefinition } from '../tasks/task-definition.js';

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
export const groupFilter = z.strictObject({
  ...attemptFilter.shape,
  batch: batchKey.exactOptional().describe('Only tasks of this batch.'),
});
export type GroupFilter = z.output<typeof groupFilter>;
