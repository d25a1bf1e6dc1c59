import type { Knex } from 'knex';
import { inOneFlight } from '../database/transactions.js';
import type { DecisionRow, InterruptionRow } from '../interruptions/interruption-rows.js';
import { decisionsOfSegment, interruptionsOfSegment } from '../interruptions/interruptions.js';
import { type StandingThen, standingThen } from '../interruptions/standing-decisions.js';
import { callsOfRun } from './calls.js';
import { runColumns } from './run-columns.js';
import type { RunRow } from './run-row.js';
import { runs, startingWork } from './runs.js';
import { type SnapshotRow, snapshotOf, soundState } from './snapshots.js';

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

/** What of its run says what a call may do. */
export type RunOfCall = Pick<RunRow, 'id' | 'tenant' | 'agent' | 'agent_hash' | 'grants'>;

/** That of several runs, by their ids. */
export async function runsOfCalls(db: Knex, ids: readonly string[]): Promise<ReadonlyMap<string, RunOfCall>> {
  if (ids.length === 0) return new Map();
  const rows = await runs(db).whereIn('id', ids).select('id', 'tenant', 'agent', 'agent_hash', 'grants');
  return new Map(rows.map((row) => [row.id, row]));
}

/** What a segment goes on from that is not the first of its run. */
export interface ResumedWork {
  /** Undefined: this is not the run's segment any more. */
  readonly run: RunRow | undefined;
  readonly interruptions: readonly InterruptionRow[];
  readonly decisions: readonly DecisionRow[];
  readonly standing: readonly StandingThen[];
  /** Of all calls for which the run has an intent or an outcome. */
  readonly callIds: readonly string[];
  /** Null: there is none, or it is damaged. */
  readonly state: string | null;
}

/** Makes a run `running`, as `startWork` does, and reads what its segment goes on from. */
export async function resumeWork(
  db: Knex,
  start: { readonly runId: string; readonly segment: number; readonly at: Date },
): Promise<ResumedWork> {
  const { runId, segment } = start;
  const [[run], interruptions, decisions, standing, calls, [snapshot]] = await inOneFlight<
    [RunRow, InterruptionRow, DecisionRow, StandingThen, { call_id: string }, SnapshotRow]
  >(db, [
    startingWork(db, start),
    interruptionsOfSegment(db, runId, segment),
    decisionsOfSegment(db, runId, segment),
    standingThen(db, runId),
    callsOfRun(db, runId),
    snapshotOf(db, runId, segment),
  ]);
  return {
    ...{ run, interruptions, decisions, standing },
    callIds: calls.map((call) => call.call_id),
    state: soundState(snapshot),
  };
}
