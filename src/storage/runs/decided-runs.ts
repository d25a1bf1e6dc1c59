import type { Knex } from 'knex';
import { runColumns } from './run-columns.js';
import type { RunRow } from './run-row.js';
import { runs } from './runs.js';

/**
 * Reads runs and holds their rows until the transaction ends: those of a family that are deeper later, as everywhere; of one depth, in
 * the order of their ids.
 */
export const lockRuns = async (trx: Knex.Transaction, ids: readonly string[]): Promise<readonly RunRow[]> =>
  runs(trx)
    .whereRaw('id = any(?)', [[...ids]])
    .orderByRaw('json_array_length(ancestors::json), id')
    .forNoKeyUpdate()
    .select(runColumns(trx));

/** Makes those runs `queued` that wait for nothing undecided but what is being `settled`. Gives their ids. */
export async function queueDecided(
  trx: Knex.Transaction,
  ids: readonly string[],
  settled: string | null,
): Promise<ReadonlySet<string>> {
  const undecided = trx('holdfast.interruptions as i')
    .whereRaw('i.run_id = runs.id')
    .where('i.status', 'pending')
    .select('i.id');
  if (settled !== null) undecided.whereNot({ 'i.id': settled });
  const change = { status: 'queued', updated_at: trx.fn.now() as unknown as Date } as const;
  const queued = await runs(trx)
    .whereRaw('id = any(?)', [[...ids]])
    .whereNotExists(undecided)
    .update(change)
    .returning('id');
  return new Set(queued.map(({ id }) => id));
}
