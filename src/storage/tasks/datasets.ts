import type { Knex } from 'knex';
import { type DatasetView, idOf, type NamedVersion } from '../../core/tasks/registry.js';
import { viewOfRow } from '../database/legible-rows.js';
import type { PageRows } from '../runs/page-rows.js';
import { previewBytes } from '../runs/page-rows.js';
import { newestFirst, type Placed } from '../runs/run-list.js';
import { type RegisteredRow, registered } from './registry.js';

/** Datasets: named and versioned sets of definitions of tasks. They never change. */

export interface DatasetRow extends NamedVersion {
  readonly id: string;
  readonly hash: string;
  readonly description: string;
  readonly tasks: number;
  readonly created_by: string;
  readonly created_at: Date;
}

const datasets = (db: Knex) => db<DatasetRow & { readonly tenant: string }>('holdfast.datasets');

/** The definitions of these names, as far as there are such. */
export async function registeredNames(
  db: Knex,
  tenant: string,
  names: readonly NamedVersion[],
): Promise<readonly RegisteredRow[]> {
  const values = JSON.stringify(names.map(({ name, version }) => ({ name, version })));
  return registered(db)
    .distinctOn('d.name', 'd.version')
    .where({ 'd.tenant': tenant })
    .whereRaw(
      '(d.name, d.version) in (select n.name, n.version from json_to_recordset(?::json) as n(name text, version text))',
      [values],
    )
    .orderBy([{ column: 'd.name' }, { column: 'd.version' }, { column: 'd.created_at', order: 'desc' }]);
}

const CHUNK = 1000;

/** Keeps a dataset with its tasks. False: there is one of this name and version, and nothing is kept. */
export async function insertDataset(
  trx: Knex.Transaction,
  tenant: string,
  row: Omit<DatasetRow, 'created_at' | 'id' | 'tasks'>,
  tasks: readonly { readonly name: string; readonly hash: string }[],
): Promise<boolean> {
  const made = await datasets(trx)
    .insert({ tenant, ...row, id: idOf(row), tasks: tasks.length })
    .onConflict(['tenant', 'name', 'version'])
    .ignore()
    .returning('name');
  if (made.length === 0) return false;
  const rows = tasks.map(({ name, hash }, index) => ({
    ...{ tenant, dataset: row.name, dataset_version: row.version, place: index + 1, name, hash },
  }));
  await trx.batchInsert('holdfast.dataset_tasks', rows, CHUNK).transacting(trx);
  return true;
}

export const findDataset = (
  db: Knex,
  tenant: string,
  { name, version }: NamedVersion,
): Promise<DatasetRow | undefined> => datasets(db).where({ tenant, name, version }).first();

/** A page of datasets, newest first. */
export function listDatasetRows(
  db: Knex,
  tenant: string,
  { name }: { readonly name?: string },
  page: { readonly limit: number; readonly cursor?: string },
): Promise<PageRows<Placed<DatasetRow>>> {
  const query = db('holdfast.datasets').select('*').where({ tenant });
  if (name !== undefined) query.where({ name });
  return newestFirst(db, query, page, { bytes: previewBytes('description') });
}

/** The definitions of a dataset after a place, in order. */
export const datasetRows = (
  db: Knex,
  tenant: string,
  { name, version }: NamedVersion,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<(RegisteredRow & { readonly place: number })[]> =>
  registered(db)
    .select('t.place')
    .join('holdfast.dataset_tasks as t', (on) => on.on('t.tenant', 'd.tenant').andOn('t.hash', 'd.hash'))
    .where({ 't.tenant': tenant, 't.dataset': name, 't.dataset_version': version })
    .where('t.place', '>', after)
    .orderBy('t.place')
    .limit(limit);

export const datasetViewOf = (row: DatasetRow): DatasetView =>
  viewOfRow(row, { table: 'datasets', row: idOf(row) }, shownDataset);

const shownDataset = (row: DatasetRow): DatasetView => ({
  ...{ name: row.name, version: row.version, digest: row.hash, description: row.description, tasks: row.tasks },
  ...{ createdAt: row.created_at.toISOString(), createdBy: row.created_by },
});
