import type { Knex } from 'knex';
import { ancestorsOf, type RunRow, runs } from './runs.js';

/** Holds the rows of the runs above a run, the topmost first: an id list grows with every run above. */
export async function lockAncestors(trx: Knex.Transaction, id: string): Promise<void> {
  const row = await runs(trx).where({ id }).first('ancestors');
  const above = row === undefined ? [] : ancestorsOf(row);
  if (above.length === 0) return;
  await runs(trx).whereIn('id', above).orderByRaw('length(ancestors)').forNoKeyUpdate().select('id');
}

/** The runs that calls of a run started and that are not over, held until the transaction ends. */
export const liveChildrenOf = (trx: Knex.Transaction, parentId: string): Promise<RunRow[]> =>
  runs(trx)
    .where({ parent_run_id: parentId })
    .whereNotIn('status', ['completed', 'failed', 'cancelled'])
    .orderBy('id')
    .forNoKeyUpdate();

/** Adds what a run itself used to every run above it. Once, when it ends. */
export async function countOnAncestors(trx: Knex.Transaction, run: RunRow): Promise<void> {
  const above = ancestorsOf(run);
  if (above.length === 0) return;
  const plus = (column: string, amount: string) => trx.raw('?? + ?', [column, amount]) as unknown as string;
  await runs(trx)
    .whereIn('id', above)
    .update({
      child_input_tokens: plus('child_input_tokens', run.input_tokens),
      child_output_tokens: plus('child_output_tokens', run.output_tokens),
      child_total_tokens: plus('child_total_tokens', run.total_tokens),
      child_active_ms: plus('child_active_ms', run.active_ms),
    });
}
