import type { Knex } from 'knex';
import { inOneFlight } from '../database/one-flight.js';
import type { DecisionRow, InterruptionRow } from '../interruptions/interruption-rows.js';
import { decisionsOfSegment, interruptionsOfSegment } from '../interruptions/interruptions.js';
import { type StandingThen, standingThen } from '../interruptions/standing-decisions.js';
import { callsOfRun } from './calls.js';
import type { RunRow } from './run-row.js';
import { startingWork } from './runs.js';
import { type SnapshotRow, snapshotOf, soundState } from './snapshots.js';

/** What a segment goes on from that is not the first of its run. */
export interface ResumedWork {
  /** Undefined: this is not the run's segment any more. */
  readonly run: RunRow | undefined;
  readonly interruptions: readonly InterruptionRow[];
  readonly decisions: readonly DecisionRow[];
  readonly standing: readonly StandingThen[];
  /** Of all calls of which the run has an intent or an outcome. */
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
