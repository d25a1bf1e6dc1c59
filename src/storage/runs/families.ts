import type { Knex } from 'knex';
import { OVER, type RunStatus, type Usage } from '../../core/runs/run.js';
import type { Rows } from '../database/columns.js';
import { inOneFlight } from '../database/transactions.js';
import { runColumns } from './run-columns.js';
import { ancestorsOf, type RunRow } from './run-row.js';
import { runs } from './runs.js';

/**
 * Reads a run and holds its row and those of the runs above it, the topmost first, until the transaction ends: an id list
 * grows with every run above, and never changes.
 */
export async function lockFamily(trx: Knex.Transaction, id: string): Promise<RunRow | undefined> {
  const [, [run]] = await inOneFlight<[object, RunRow]>(trx, familyOf(trx, id));
  return run;
}

/** The statements of `lockFamily`. */
export function familyOf(trx: Knex.Transaction, id: string) {
  const above = 'id in (select json_array_elements_text(ancestors::json) from holdfast.runs where id = ?)';
  const ancestors = runs(trx).whereRaw(above, [id]).orderByRaw('length(ancestors)').forNoKeyUpdate().select('id');
  return [ancestors, runs(trx).where({ id }).forNoKeyUpdate().select(runColumns(trx))] as const;
}

/**
 * Reads and holds those of some runs that no other run started and that have none at work below them. One that someone else holds is left
 * out, so that nothing is waited for.
 */
export const takeAlone = (trx: Knex.Transaction, ids: readonly string[]): Rows<RunRow> =>
  runs(trx)
    .whereRaw('id = any(?)', [[...ids]])
    .whereNull('parent_run_id')
    .whereRaw(
      'not exists (select 1 from holdfast.runs as below where below.parent_run_id = runs.id and below.status <> all(?))',
      [[...OVER]],
    )
    .orderBy('id')
    .forNoKeyUpdate('runs')
    .skipLocked()
    .select(runColumns(trx));

/** The runs that calls of these runs started and that are not over, held until the transaction ends. */
export const liveChildrenOf = (trx: Knex.Transaction, parentIds: readonly string[]): Rows<RunRow> =>
  runs(trx)
    .whereRaw('parent_run_id = any(?)', [[...parentIds]])
    .whereNotIn('status', [...OVER])
    .orderBy('id')
    .forNoKeyUpdate()
    .select(runColumns(trx));

/** A run, or one below it, that is not over; null: all of them are. */
export async function liveBelow(db: Knex, id: string): Promise<{ id: string; status: RunStatus } | null> {
  const { rows }: { rows: { id: string; status: RunStatus }[] } = await db.raw(
    `with recursive family as (
       select id, status from holdfast.runs where id = :id
       union select r.id, r.status from holdfast.runs r join family f on r.parent_run_id = f.id)
     select id, status from family where status <> all(:over) order by id limit 1`,
    { id, over: [...OVER] },
  );
  return rows[0] ?? null;
}

/** Adds what a run itself used to every run above it. Once, when it ends. */
export async function countOnAncestors(trx: Knex.Transaction, run: RunRow): Promise<void> {
  const above = ancestorsOf(run);
  if (above.length === 0) return;
  await runs(trx)
    .whereIn('id', above)
    .update({
      ...usedBelow(trx, usageOf(run)),
      child_active_ms: plus(trx, 'child_active_ms', run.active_ms),
      // What is not known makes a sum that is not known.
      child_cost_nano_usd: plus(trx, 'child_cost_nano_usd', run.cost_nano_usd),
    });
}

/** Adds the tokens of a run and of those below it to one that takes its result and is not above it: a fork of its parent. */
export async function countResult(trx: Knex.Transaction, id: string, usage: Usage): Promise<void> {
  await runs(trx).where({ id }).update(usedBelow(trx, usage));
}

const plus = (trx: Knex.Transaction, column: string, amount: string | number | null) =>
  trx.raw('?? + ?::bigint', [column, amount]) as unknown as string;

const usedBelow = (trx: Knex.Transaction, { inputTokens, outputTokens, totalTokens }: Usage) => ({
  child_input_tokens: plus(trx, 'child_input_tokens', inputTokens),
  child_output_tokens: plus(trx, 'child_output_tokens', outputTokens),
  child_total_tokens: plus(trx, 'child_total_tokens', totalTokens),
});

/** What a run used itself. */
const usageOf = (run: RunRow): Usage => ({
  inputTokens: Number(run.input_tokens),
  outputTokens: Number(run.output_tokens),
  totalTokens: Number(run.total_tokens),
});
