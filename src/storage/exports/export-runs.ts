import type { Knex } from 'knex';
import type { ExportFilters } from '../../core/exports/export.js';
import type { RunRow } from '../runs/run-row.js';
import type { ExportRow } from './exports.js';

/** The runs of an export are listed once, when it begins, so that it is the same however often a part of it is written. */

interface ListedRun {
  readonly position: number;
  readonly run_id: string;
  readonly task: string;
}

/** A task is what runs say that they try (`taskId` of their metadata), or else the agent with its input. */
const TASK = `case when strpos(r.metadata, '"taskId":') > 0 and strpos(r.metadata, '\\u0000') = 0
     and json_typeof(r.metadata::json -> 'taskId') = 'string'
  then 'task:' || (r.metadata::json ->> 'taskId')
  else 'input:' || encode(sha256(convert_to(r.agent || chr(10) || r.input, 'UTF8')), 'hex') end`;

/** PostgreSQL reads fewer texts of times than RFC 3339 has: no offset of 16 hours, no year 0. */
const dateOf = (time: string | undefined): Date | null => (time === undefined ? null : new Date(time));

/**
 * Lists the runs of an export in the order in which they ended, and says how many they are. With `byTask` those of a task
 * follow each other; the task whose run ended first is the first. An erasure at the same moment is before it, and leaves
 * no task to list, or after it, and finds what is listed: it waits for the lock of the table.
 */
export async function listRunsOf(
  trx: Knex.Transaction,
  { id, tenant, created_at }: ExportRow,
  filters: ExportFilters,
  { byTask = false }: { readonly byTask?: boolean } = {},
): Promise<number> {
  const { agent, status, since, until } = filters;
  await trx.raw('lock table holdfast.export_runs in share row exclusive mode');
  await trx('holdfast.export_runs').where({ export_id: id }).delete();
  await trx.raw(
    `insert into holdfast.export_runs (tenant, export_id, position, run_id, task)
     select tenant, ?, row_number() over (order by ${byTask ? 'first_at, task, ' : ''}completed_at, id), id, task
       from (select *, ${byTask ? 'min(completed_at) over (partition by task)' : 'completed_at'} as first_at
       from (select r.id, r.tenant, r.completed_at, ${TASK} as task from holdfast.runs r
      where r.tenant = ? and r.status = any(?) and r.completed_at <= ?
        and (?::text is null or r.agent = ?) and (?::timestamptz is null or r.completed_at >= ?)
        and (?::timestamptz is null or r.completed_at < ?)) found) dated`,
    [
      ...[id, tenant, [...status], created_at, agent ?? null, agent ?? null],
      ...[dateOf(since), dateOf(since), dateOf(until), dateOf(until)],
    ],
  );
  const listed: { n?: number | null } | undefined = await trx('holdfast.export_runs')
    .where({ export_id: id })
    .max({ n: 'position' })
    .first();
  return Number(listed?.n ?? 0);
}

/** A listed run with its row; null: it was deleted since. */
export interface RunToExport extends ListedRun {
  readonly row: RunRow | null;
}

/** The listed runs after a position. */
export async function readListed(db: Knex, exportId: string, after: number, limit: number): Promise<RunToExport[]> {
  const listed: ListedRun[] = await db('holdfast.export_runs')
    .where({ export_id: exportId })
    .where('position', '>', after)
    .orderBy('position')
    .limit(limit)
    .select('position', 'run_id', 'task');
  const rows: RunRow[] = await db<RunRow>('holdfast.runs').whereIn(
    'id',
    listed.map(({ run_id }) => run_id),
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  return listed.map((one) => ({ ...one, row: byId.get(one.run_id) ?? null }));
}

/** Forgets what a part has said, before it is written again. */
export const forgetDigests = (db: Knex, exportId: string, part: number): Promise<number> =>
  db('holdfast.export_digests').where({ export_id: exportId, part }).delete();

/** Keeps digests for a part; gives those that no one had before. */
export async function saveDigests(
  db: Knex,
  { tenant, id }: Pick<ExportRow, 'tenant' | 'id'>,
  part: number,
  digests: readonly string[],
): Promise<ReadonlySet<string>> {
  if (digests.length === 0) return new Set();
  const rows = [...new Set(digests)].map((digest) => ({ tenant, export_id: id, digest, part }));
  const kept: { digest: string }[] = await db('holdfast.export_digests')
    .insert(rows)
    .onConflict(['export_id', 'digest'])
    .ignore()
    .returning('digest');
  return new Set(kept.map(({ digest }) => digest));
}

/** Definitions of agents by their digest, as they were when runs used them. */
export async function readDefinitions(db: Knex, hashes: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows: { definition_hash: string; definition: string }[] = await db('holdfast.agents')
    .whereIn('definition_hash', hashes)
    .select('definition_hash', 'definition');
  return new Map(rows.map(({ definition_hash, definition }) => [definition_hash, definition]));
}
