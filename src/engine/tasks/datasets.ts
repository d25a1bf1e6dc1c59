import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import { digestOf } from '../../core/json.js';
import type { Page, PageOf } from '../../core/page.js';
import {
  type CreateDataset,
  createDataset as createDatasetShape,
  type DatasetFilter,
  type DatasetView,
  type DefinitionSummary,
  idOf,
  type NamedVersion,
} from '../../core/tasks/registry.js';
import { legibleRows } from '../../storage/database/legible-rows.js';
import { cursorAfter } from '../../storage/runs/run-list.js';
import {
  type DatasetRow,
  datasetRows,
  datasetViewOf,
  findDataset,
  insertDataset,
  listDatasetRows,
  registeredNames,
} from '../../storage/tasks/datasets.js';
import { type RegisteredRow, summaryOf } from '../../storage/tasks/registry.js';
import { deprecated } from '../../storage/tasks/task-definitions.js';
import type { EngineContext } from '../engine-context.js';

const FIELDS_MOST = 20;

/** Keeps a set of definitions under a name and version. The same set again is no error. */
export async function createDataset(
  { stepContext: { knex } }: EngineContext,
  request: CreateDataset,
  { tenant, actor }: Caller,
): Promise<DatasetView> {
  const parsed = createDatasetShape.safeParse(request);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  const { name, version, description, tasks: asked } = parsed.data;
  assertOneVersion(asked);
  return knex.transaction(async (trx) => {
    const rows = await registeredNames(trx, tenant, asked);
    assertKnown(asked, rows);
    const tasks = rows.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const members = tasks.map((task) => ({ name: task.name, version: task.version, digest: task.hash }));
    const hash = digestOf({ name, version, tasks: members });
    const before = await findDataset(trx, tenant, { name, version });
    if (before === undefined) {
      assertInUse(asked, rows);
      await insertDataset(trx, tenant, { name, version, hash, description, created_by: actor }, tasks);
    }
    // Another request may have made it meanwhile.
    const kept = await findDataset(trx, tenant, { name, version });
    if (kept === undefined) throw unknown({ name, version });
    if (kept.hash !== hash) throw taken(kept, hash);
    return datasetViewOf(kept);
  });
}

const unknown = ({ name, version }: NamedVersion): HoldfastError =>
  new HoldfastError('dataset_unknown', `There is no dataset ${name} of version ${version}.`);

const taken = ({ name, version, hash, tasks }: DatasetRow, given: string): HoldfastError =>
  new HoldfastError(
    'dataset_taken',
    `${name} of version ${version} is another dataset: it is ${hash} with ${tasks} tasks, and the given one ${given}.`,
  );

const fieldsOf = (indexes: readonly number[], detail: (index: number) => string) =>
  indexes.slice(0, FIELDS_MOST).map((index) => ({ pointer: `/tasks/${index}`, detail: detail(index) }));

const indexesWhere = <T>(list: readonly T[], test: (item: T, index: number) => boolean): number[] =>
  list.flatMap((item, index) => (test(item, index) ? [index] : []));

function assertOneVersion(asked: readonly NamedVersion[]): void {
  const first = new Map<string, number>();
  for (const [index, { name }] of asked.entries()) if (!first.has(name)) first.set(name, index);
  const twice = indexesWhere(asked, ({ name }, index) => first.get(name) !== index);
  if (twice.length > 0)
    throw invalidRequest(fieldsOf(twice, (index) => `${asked[index]?.name} is in the dataset already`));
}

function assertKnown(asked: readonly NamedVersion[], rows: readonly RegisteredRow[]): void {
  const known = new Set(rows.map(idOf));
  const missing = indexesWhere(asked, (one) => !known.has(idOf(one)));
  const [first] = missing.flatMap((index) => asked[index] ?? []);
  if (first === undefined) return;
  throw new HoldfastError(
    'task_definition_unknown',
    `There is no definition ${first.name} of version ${first.version}${missing.length > 1 ? `, nor ${missing.length - 1} others` : ''}.`,
    {
      fields: fieldsOf(missing, () => 'is not in the registry'),
      hint: 'Register the tasks first, as with `holdfast task register`.',
    },
  );
}

/** What is deprecated gets into no new dataset. */
function assertInUse(asked: readonly NamedVersion[], rows: readonly RegisteredRow[]): void {
  const reasons = new Map(rows.map((row) => [idOf(row), row.deprecated_reason]));
  const old = indexesWhere(asked, (one) => typeof reasons.get(idOf(one)) === 'string');
  const [first] = old.flatMap((index) => asked[index] ?? []);
  if (first === undefined) return;
  throw deprecated(
    first,
    reasons.get(idOf(first)) ?? '',
    fieldsOf(old, () => 'is deprecated'),
  );
}

export async function listDatasets(
  { stepContext }: EngineContext,
  { limit, cursor, ...filter }: DatasetFilter & PageOf,
  { tenant }: Caller,
): Promise<Page<DatasetView>> {
  const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
  const found = await listDatasetRows(stepContext.knex, tenant, filter, page);
  return { ...legibleRows(found.rows, idOf, datasetViewOf), nextCursor: cursorAfter(found) };
}

export async function getDataset(
  { stepContext }: EngineContext,
  of: NamedVersion,
  { tenant }: Caller,
): Promise<DatasetView> {
  const row = await findDataset(stepContext.knex, tenant, of);
  if (row === undefined) throw unknown(of);
  return datasetViewOf(row);
}

/** The cursor is the place of the last one. */
export async function listDatasetTasks(
  context: EngineContext,
  of: NamedVersion,
  { limit, cursor = '0' }: PageOf,
  caller: Caller,
): Promise<Page<DefinitionSummary>> {
  const { tasks } = await getDataset(context, of, caller);
  if (!/^\d{1,6}$/.test(cursor))
    throw invalidRequest([{ pointer: '/cursor', detail: 'use nextCursor of the page before' }]);
  const after = Number(cursor);
  const rows = await datasetRows(context.stepContext.knex, caller.tenant, of, { after, limit });
  const last = rows.at(-1)?.place ?? tasks;
  return { ...legibleRows(rows, idOf, summaryOf), nextCursor: last < tasks ? String(last) : null };
}
