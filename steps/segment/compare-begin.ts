import { HoldfastError } from '../../src/core/errors/errors.js';
import { argumentsFault, falseAtBegin, falseCount, storedRow } from '../../src/core/integrity/begin-rows.js';
import { EMPTY_STATE } from '../../src/core/log/state.js';
import { addUsage, NO_USAGE, type Usage } from '../../src/core/runs/run.js';
import { beginFacts, headState } from '../../src/storage/integrity/begin-events.js';
import type { DecisionRow, InterruptionRow } from '../../src/storage/interruptions/interruption-rows.js';
import type { StandingThen } from '../../src/storage/interruptions/standing-decisions.js';
import type { RunRow } from '../../src/storage/runs/run-row.js';
import type { StepContext } from '../context.js';
import { withDatabaseRetry } from '../database-retry.js';

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
  { knex }: Pick<StepContext, 'knex'>,
  run: RunRow,
  rows: BeginRows,
): Promise<HoldfastError | null> {
  const keys = [
    `${run.segment - 1}:rebuilt`,
    ...(run.rebuilt_segment === null ? [] : [`${run.rebuilt_segment - 1}:rebuilt`]),
    ...rows.interruptions.map(({ id }) => `interruption:${id}`),
    ...rows.decisions.map(({ interruption_id: id }) => `decision:${id}`),
    ...rows.decisions.map(({ interruption_id: id, vote }) => `vote:${id}:${vote}`),
    ...rows.standing.flatMap(({ id }) => [`standing:${id}`, `standing:${id}:revoked`]),
  ];
  // What is revoked after its row was read is no fault of the row: of all else nothing changes any more.
  const upTo = rows.standing[0]?.log_seq;
  const read = await withDatabaseRetry(() => beginFacts(knex, run.id, [...new Set(keys)], upTo));
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

/**
 * Compares the counters of a run, by which its limits are kept, with the state after the last event of its log, when a segment begins for
 * the first time. `recorded`: what the log has of the segment by then. Gives the error by which the run fails; null: they are the same.
 */
export async function compareCounts(
  { knex }: Pick<StepContext, 'knex'>,
  run: RunRow,
  recorded: ReadonlyMap<number, { readonly usage: Usage }>,
): Promise<HoldfastError | null> {
  const isNew = run.segment === 0 && run.forked_from_run_id === null;
  const state = isNew ? EMPTY_STATE : await withDatabaseRetry(() => headState(knex, run.id));
  if (state === null) return refused(run.id, 'the head of its log is not what its last event made of the state');
  const answers = [...recorded.values()];
  const wrong = falseCount(
    {
      ...{ id: run.id, segment: run.segment, turns: run.turns },
      ...{ forked: run.forked_from_run_id !== null, rebuilt: run.rebuilt_segment === run.segment },
      own: usageIn(run.input_tokens, run.output_tokens, run.total_tokens),
      below: usageIn(run.child_input_tokens, run.child_output_tokens, run.child_total_tokens),
      recorded: {
        turns: answers.length,
        usage: answers.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE),
      },
    },
    state,
  );
  if (wrong === null) return null;
  return refused(run.id, `${wrong.column} of the row ${wrong.row} of ${wrong.table}: ${wrong.what}`);
}

const usageIn = (input: string, output: string, total: string): Usage => ({
  ...{ inputTokens: Number(input), outputTokens: Number(output), totalTokens: Number(total) },
});

const refused = (runId: string, what: string): HoldfastError =>
  new HoldfastError('row_changed', `Nothing of run ${runId} was executed: ${what}.`);
