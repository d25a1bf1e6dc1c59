import { argumentsFault, falseAtBegin, storedRow } from '../src/core/begin-rows.js';
import { HoldfastError } from '../src/core/errors.js';
import { beginFacts } from '../src/storage/begin-events.js';
import type { DecisionRow, InterruptionRow } from '../src/storage/interruption-rows.js';
import type { RunRow } from '../src/storage/run-row.js';
import type { StandingThen } from '../src/storage/standing-decisions.js';
import { patiently } from './patience.js';
import type { World } from './world.js';

/** The rows that a segment begins with. */
export interface BeginRows {
  readonly interruptions: readonly InterruptionRow[];
  readonly decisions: readonly DecisionRow[];
  readonly standing: readonly StandingThen[];
}

/**
 * Compares what a segment begins with (what its run was started with, and what was decided) with the log. Gives the error by which
 * the run fails where they differ, before anything of it executes; null: they are the same.
 */
export async function compareBegin(
  { knex }: Pick<World, 'knex'>,
  run: RunRow,
  rows: BeginRows,
): Promise<HoldfastError | null> {
  const keys = [
    ...rows.interruptions.map(({ id }) => `interruption:${id}`),
    ...rows.decisions.map(({ interruption_id: id }) => `decision:${id}`),
    ...rows.decisions.map(({ interruption_id: id, vote }) => `vote:${id}:${vote}`),
    ...rows.standing.flatMap(({ id }) => [`standing:${id}`, `standing:${id}:revoked`]),
  ];
  // What is revoked after its row was read is no fault of the row: of all else nothing changes any more.
  const upTo = rows.standing[0]?.log_seq;
  const read = await patiently(() => beginFacts(knex, run.id, [...new Set(keys)], upTo));
  if ('broken' in read) return refused(run.id, read.broken);
  const { facts } = read;
  const wrong =
    falseAtBegin(facts, run.id, {
      runs: [storedRow('runs', run, run)],
      interruptions: rows.interruptions.map((row) => storedRow('interruptions', row, run)),
      decisions: rows.decisions.map((row) => storedRow('decisions', row, run)),
      standing_decisions: rows.standing.map((row) => storedRow('standing_decisions', row, run)),
    }) ?? rows.interruptions.map((row) => argumentsFault(row, facts)).find((one) => one !== null);
  if (wrong == null) return null;
  const { table, row, column, what } = wrong;
  return refused(run.id, `${column === null ? '' : `${column} of `}the row ${row} of ${table}: ${what}`);
}

const refused = (runId: string, what: string): HoldfastError =>
  new HoldfastError('row_changed', `Nothing of run ${runId} was executed: ${what}.`);
