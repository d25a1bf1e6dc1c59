import type { Knex } from 'knex';
import type { DefinitionFilter, DefinitionSummary, NamedVersion } from '../../core/tasks/registry.js';
import { whereSame } from '../database/columns.js';
import { viewOfRow } from '../database/legible-rows.js';
import type { PageRows } from '../runs/page-rows.js';
import { newestFirst, type Placed } from '../runs/run-list.js';

/** Definitions of tasks as lists show them. */
export interface RegisteredRow extends NamedVersion {
  readonly hash: string;
  readonly category: string;
  readonly difficulty: string;
  readonly bytes: number;
  readonly registered_at: Date;
  readonly registered_by: string | null;
  readonly deprecated_at: Date | null;
  readonly deprecated_by: string | null;
  readonly deprecated_reason: string | null;
}

const COLUMNS = [
  ...['hash', 'name', 'version', 'category', 'difficulty', 'registered_at', 'registered_by'],
  ...['deprecated_at', 'deprecated_by', 'deprecated_reason'],
].map((column) => `d.${column}`);

/** Of a definition `d`; its text is not read. */
export const registered = (db: Knex): Knex.QueryBuilder =>
  db('holdfast.task_definitions as d').select(...COLUMNS, db.raw('octet_length(d.definition) as bytes'));

type PageAsked = { readonly limit: number; readonly cursor?: string };

/** A page of definitions, the last registered first. */
export function listRegistered(
  db: Knex,
  tenant: string,
  { deprecated, ...same }: DefinitionFilter,
  page: PageAsked,
): Promise<PageRows<Placed<RegisteredRow>>> {
  const query = registered(db).where({ 'd.tenant': tenant });
  whereSame(query, 'd', same);
  if (deprecated === 'true') query.whereNotNull('d.deprecated_at');
  if (deprecated === 'false') query.whereNull('d.deprecated_at');
  return newestFirst(db, query, page, { at: 'd.registered_at', id: 'd.hash', bytes: '256' });
}

export const findRegistered = (
  db: Knex,
  tenant: string,
  { name, version }: NamedVersion,
): Promise<RegisteredRow | undefined> =>
  registered(db)
    .where({ 'd.tenant': tenant, 'd.name': name, 'd.version': version })
    .orderBy('d.created_at', 'desc')
    .first();

/** Deprecates every row of these names, or takes that back. The same again keeps who did it first. */
export async function setDeprecated(
  db: Knex,
  tenant: string,
  { name, version }: NamedVersion,
  { reason, actor }: { readonly reason: string | null; readonly actor: string },
): Promise<void> {
  await db('holdfast.task_definitions')
    .where({ tenant, name, version })
    .whereRaw('deprecated_reason is distinct from ?::text', [reason])
    .update({
      deprecated_at: reason === null ? null : db.fn.now(),
      deprecated_by: reason === null ? null : actor,
      deprecated_reason: reason,
    });
}

export const summaryOf = (row: RegisteredRow): DefinitionSummary =>
  viewOfRow(row, { table: 'task_definitions', row: row.hash }, shownSummary);

const shownSummary = (row: RegisteredRow): DefinitionSummary => ({
  ...{ name: row.name, version: row.version, digest: row.hash, category: row.category, difficulty: row.difficulty },
  ...{ bytes: row.bytes, registeredAt: row.registered_at.toISOString(), registeredBy: row.registered_by },
  deprecated:
    row.deprecated_at === null
      ? null
      : {
          at: row.deprecated_at.toISOString(),
          by: row.deprecated_by ?? '',
          reason: row.deprecated_reason ?? '',
        },
});
