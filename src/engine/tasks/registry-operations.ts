import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import type { Page, PageOf } from '../../core/page.js';
import {
  type DefinitionDiff,
  type DefinitionFilter,
  type DefinitionSummary,
  type DefinitionView,
  type DeprecateTask,
  DIFFERENCES_MOST,
  definitionFilter,
  deprecateTask,
  differencesOf,
  idOf,
  type NamedVersion,
  type RegisterTask,
  registerTask as registerTaskShape,
} from '../../core/tasks/registry.js';
import { legibleRows } from '../../storage/database/legible-rows.js';
import { cursorAfter } from '../../storage/runs/run-list.js';
import { findRegistered, listRegistered, setDeprecated, summaryOf } from '../../storage/tasks/registry.js';
import { definitionIn, readDefinition, saveDefinition } from '../../storage/tasks/task-definitions.js';
import type { EngineContext } from '../engine-context.js';
import { createDataset, getDataset, listDatasets, listDatasetTasks } from './datasets.js';
import { assertMounts, assertReach, keptOf } from './submit-task.js';

/** Keeps a definition without submitting it. */
async function registerTask(context: EngineContext, request: RegisterTask, caller: Caller): Promise<DefinitionSummary> {
  const parsed = registerTaskShape.safeParse(request);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  const { task } = parsed.data;
  assertReach(context, task, caller);
  assertMounts(context, task);
  const { knex } = context.stepContext;
  await knex.transaction((trx) => saveDefinition(trx, caller.tenant, keptOf(task), caller.actor));
  return summaryOf(await rowNamed(context, task, caller));
}

async function rowNamed({ stepContext }: EngineContext, of: NamedVersion, { tenant }: Caller) {
  const row = await findRegistered(stepContext.knex, tenant, of);
  if (row === undefined)
    throw new HoldfastError('task_definition_unknown', `There is no definition ${of.name} of version ${of.version}.`);
  return row;
}

async function listTaskDefinitions(
  { stepContext }: EngineContext,
  { limit, cursor, ...asked }: DefinitionFilter & PageOf,
  { tenant }: Caller,
): Promise<Page<DefinitionSummary>> {
  const filter = definitionFilter.safeParse(asked);
  if (!filter.success) throw invalidRequest(fieldErrorsOf(filter.error));
  const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
  const { rows, more } = await listRegistered(stepContext.knex, tenant, filter.data, page);
  const placed = rows.map((row) => ({ ...row, id: row.hash }));
  return { ...legibleRows(rows, idOf, summaryOf), nextCursor: cursorAfter({ rows: placed, more }) };
}

async function getTaskDefinition(context: EngineContext, of: NamedVersion, caller: Caller): Promise<DefinitionView> {
  const row = await rowNamed(context, of, caller);
  const kept = await readDefinition(context.stepContext.knex, caller.tenant, row.hash);
  return { ...summaryOf(row), definition: kept === undefined ? {} : definitionIn(kept) };
}

async function diffTaskDefinitions(
  context: EngineContext,
  from: NamedVersion,
  to: NamedVersion,
  caller: Caller,
): Promise<DefinitionDiff> {
  const [before, after] = [
    await getTaskDefinition(context, from, caller),
    await getTaskDefinition(context, to, caller),
  ];
  const { definition: old, ...fromSummary } = before;
  const { definition: young, ...toSummary } = after;
  const found = differencesOf(old, young).filter(({ pointer }) => pointer !== '/name' && pointer !== '/version');
  return {
    ...{ from: fromSummary, to: toSummary, same: found.length === 0 },
    ...{ differences: found.slice(0, DIFFERENCES_MOST), more: Math.max(0, found.length - DIFFERENCES_MOST) },
  };
}

async function deprecateTaskDefinition(
  context: EngineContext,
  of: NamedVersion,
  request: DeprecateTask,
  caller: Caller,
): Promise<DefinitionSummary> {
  const parsed = deprecateTask.safeParse(request);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  const { reason } = parsed.data;
  await setDeprecated(context.stepContext.knex, caller.tenant, of, { reason, actor: caller.actor });
  return summaryOf(await rowNamed(context, of, caller));
}

/** What clients ask of the registry of tasks. */
export const REGISTRY_OPERATIONS = {
  /**
   * Keeps a definition under its name and version; the same again changes nothing. Throws `task_definition_taken`, which names both
   * digests, `invalid_request`, `forbidden`.
   */
  registerTask,
  /** Definitions, the last registered first. Throws `invalid_request`. */
  listTaskDefinitions: (
    context: EngineContext,
    filter: DefinitionFilter & PageOf,
    caller: Caller,
  ): Promise<Page<DefinitionSummary>> => listTaskDefinitions(context, filter, caller),
  /** A definition with its tests and its solution. Throws `task_definition_unknown`. */
  getTaskDefinition,
  /** Where two definitions differ, but for their versions. Throws `task_definition_unknown`. */
  diffTaskDefinitions,
  /** Deprecates a definition: it is not submitted any more. A null reason takes that back. Throws `task_definition_unknown`. */
  deprecateTaskDefinition,
  /** Keeps a set of definitions. Throws `dataset_taken`, `task_definition_unknown`, `task_definition_deprecated`, `invalid_request`. */
  createDataset,
  /** Datasets, newest first. */
  listDatasets,
  /** Throws `dataset_unknown`. */
  getDataset,
  /** The definitions of a dataset, by their names. Throws `dataset_unknown`. */
  listDatasetTasks,
};
