import { z } from 'zod';
import { jsonObject, nameText, pointerToken } from '../json.js';
import { slug, TASK_VERSION, taskDefinition } from './task-definition.js';

/** The registry of tasks: definitions that never change, and datasets of them. */

export const DATASET_TASKS_MOST = 10_000;
export const DIFFERENCES_MOST = 200;

const version = z.string().max(160).regex(TASK_VERSION, 'is no version such as 1.0.0');

/** Name and version, which identify a definition or a dataset. */
export const namedVersion = z.strictObject({ name: slug, version });
export type NamedVersion = z.output<typeof namedVersion>;

export const otherVersion = z.strictObject({ ...namedVersion.shape, other: version });

export const idOf = ({ name, version: of }: NamedVersion): string => `${name}@${of}`;

const deprecation = z.object({ at: z.iso.datetime(), by: z.string(), reason: z.string() });

const definitionShape = {
  name: z.string(),
  version: z.string(),
  digest: z.string().describe('SHA-256 of what it asks. Another definition never has this name and version.'),
  category: z.string(),
  difficulty: z.string(),
  bytes: z.int().describe('Of its JSON.'),
  registeredAt: z.iso.datetime(),
  registeredBy: z.string().nullable().describe('Null: kept before this was recorded.'),
  deprecated: deprecation.nullable().describe('Null: it is not.'),
};

export const definitionSummary = z.object(definitionShape).meta({ id: 'TaskDefinitionSummary' });
export type DefinitionSummary = z.output<typeof definitionSummary>;

export const definitionView = z
  .object({ ...definitionShape, definition: jsonObject.describe('With its tests and its solution.') })
  .meta({ id: 'TaskDefinition' });
export type DefinitionView = z.output<typeof definitionView>;

export const registerTask = z.strictObject({ task: taskDefinition }).meta({ id: 'RegisterTask' });
export type RegisterTask = z.input<typeof registerTask>;

export const deprecateTask = z
  .strictObject({
    reason: z.string().trim().min(1).max(1000).nullable().describe('Why; null takes the deprecation back.'),
  })
  .meta({ id: 'DeprecateTask' });
export type DeprecateTask = z.input<typeof deprecateTask>;

/** What narrows a list of definitions; all of it must fit. */
export const definitionFilter = z.strictObject({
  name: nameText.exactOptional(),
  category: nameText.exactOptional(),
  difficulty: taskDefinition.shape.difficulty.exactOptional(),
  deprecated: z.enum(['true', 'false']).exactOptional().describe('Only those that are deprecated, or are not.'),
});
export type DefinitionFilter = z.output<typeof definitionFilter>;

export const definitionDiff = z
  .object({
    from: definitionSummary,
    to: definitionSummary,
    same: z.boolean().describe('Whether both ask the same, whatever their versions are.'),
    differences: z
      .array(z.object({ pointer: z.string(), detail: z.string() }))
      .describe(`At most ${DIFFERENCES_MOST}, in the order of their pointers.`),
    more: z.int().describe('How many more there are.'),
  })
  .meta({ id: 'TaskDefinitionDiff' });
export type DefinitionDiff = z.output<typeof definitionDiff>;

export const createDataset = z
  .strictObject({
    ...namedVersion.shape,
    description: z.string().max(10_000).default(''),
    tasks: z
      .array(namedVersion)
      .min(1)
      .max(DATASET_TASKS_MOST)
      .describe('Definitions of the registry, one version of each name.'),
  })
  .meta({ id: 'CreateDataset' });
export type CreateDataset = z.input<typeof createDataset>;

export const datasetView = z
  .object({
    name: z.string(),
    version: z.string(),
    digest: z.string().describe('SHA-256 of the name, the version and the digest of each task.'),
    description: z.string(),
    tasks: z.int().describe('How many it has.'),
    createdAt: z.iso.datetime(),
    createdBy: z.string(),
  })
  .meta({ id: 'Dataset' });
export type DatasetView = z.output<typeof datasetView>;

export const datasetFilter = z.strictObject({ name: nameText.exactOptional() });
export type DatasetFilter = z.output<typeof datasetFilter>;

/** Where two values of JSON differ, as pointers in their order. A time of making says nothing. */
export function differencesOf(
  before: unknown,
  after: unknown,
  pointer = '',
): readonly { readonly pointer: string; readonly detail: string }[] {
  if (JSON.stringify(before) === JSON.stringify(after) || pointer === '/createdAt') return [];
  if (!isBranch(before) || !isBranch(after) || Array.isArray(before) !== Array.isArray(after))
    return [{ pointer, detail: `is ${shown(after)}, and was ${shown(before)}` }];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return keys.flatMap((key) => differencesOf(before[key], after[key], `${pointer}/${pointerToken(key)}`));
}

const SHOWN_MOST = 60;

const isBranch = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const shown = (value: unknown): string =>
  value === undefined ? 'not there' : JSON.stringify(value).slice(0, SHOWN_MOST).toWellFormed();
