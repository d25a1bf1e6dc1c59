import type { Knex } from 'knex';
import type { RunRow } from '../runs/run-row.js';
import { type ExportRow, eraseTags } from './exports.js';

/** Runs whose words are in exports: kept while a part is written, and as long as the export is listed. */

const NAMED = 100;

/** Keeps that runs are in a part. It is kept before the part is whole. */
export async function saveExportedRuns(
  db: Knex,
  { tenant, id }: Pick<ExportRow, 'tenant' | 'id'>,
  part: number,
  runIds: readonly string[],
): Promise<void> {
  const rows = [...new Set(runIds)].map((run_id) => ({ tenant, export_id: id, run_id, part }));
  if (rows.length === 0) return;
  await db('holdfast.exported_runs').insert(rows).onConflict(['export_id', 'run_id', 'part']).ignore();
}

const LOCK = "hashtextextended('holdfast:exports', 0)";

/** Until the transaction ends no run is erased or removed: what was before it is seen, what comes after it sees what it did. */
export async function lockExported(trx: Knex.Transaction): Promise<void> {
  await trx.raw(`select pg_advisory_xact_lock(${LOCK})`);
}

const GONE = `
  from holdfast.exported_runs x left join holdfast.runs r on r.id = x.run_id
 where x.export_id = ? and (r.id is null or r.erased_at is not null)`;

/** The first part that has a run in it that was erased or removed since it was read; null: none has. */
export async function outdatedPart(trx: Knex.Transaction, exportId: string): Promise<number | null> {
  const { rows }: { rows: { part: number | null }[] } = await trx.raw(`select min(x.part) as part ${GONE}`, [exportId]);
  return rows[0]?.part ?? null;
}

/** Forgets what has to be written again: runs that are gone, and what was said from a part on. */
export async function forgetOutdated(trx: Knex.Transaction, exportId: string, from: number): Promise<void> {
  await trx.raw(
    `delete from holdfast.exported_runs e using (select x.run_id ${GONE}) gone
      where e.export_id = ? and e.run_id = gone.run_id`,
    [exportId, exportId],
  );
  await trx('holdfast.export_digests').where({ export_id: exportId }).where('part', '>=', from).delete();
}

/** Nothing of an export is left in its place. */
export const forgetExported = (trx: Knex.Transaction, exportId: string): Promise<number> =>
  trx('holdfast.exported_runs').where({ export_id: exportId }).delete();

/**
 * Takes a run out of exports, in the transaction that erases or removes it: those at work have its task no more, which may be in
 * words of its own, and in those that are over it is marked. An export that is being completed is before it or after it.
 */
export async function removeFromExports(trx: Knex.Transaction, run: RunRow): Promise<void> {
  const { id: runId } = run;
  await trx.raw(`select pg_advisory_xact_lock_shared(${LOCK})`);
  await eraseTags(trx, run);
  await trx('holdfast.export_runs').where({ run_id: runId }).update({ task: '' });
  await trx('holdfast.exported_runs').where({ run_id: runId }).whereNull('gone_at').update({ gone_at: trx.fn.now() });
}

const over = (db: Knex) =>
  db('holdfast.exported_runs as x')
    .join('holdfast.exports as e', 'e.id', 'x.export_id')
    .whereNotNull('e.completed_at')
    .distinct()
    .orderBy('x.export_id')
    .limit(NAMED);

/** Exports that are over and have a run in them, 100 at most. */
export const exportsWith = (db: Knex, runId: string): Promise<string[]> =>
  over(db).where('x.run_id', runId).pluck('x.export_id');

/** The same of all runs that a request has erased. */
export const exportsOfErasure = (db: Knex, requestId: string): Promise<string[]> =>
  over(db).join('holdfast.erasures as g', 'g.run_id', 'x.run_id').where('g.request_id', requestId).pluck('x.export_id');

/** How many runs of exports were erased or removed since; of the others there is nothing. */
export async function countGone(db: Knex, exportIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows: { id: string; n: string }[] = await db('holdfast.exported_runs')
    .whereIn('export_id', [...exportIds])
    .whereNotNull('gone_at')
    .groupBy('export_id')
    .select({ id: 'export_id' }, db.raw('count(distinct run_id) as n'));
  return new Map(rows.map(({ id, n }) => [id, Number(n)]));
}
