import type { Knex } from 'knex';
import type { Sketch } from '../../core/trajectories/sketch.js';
import { type RunFacts, type StepWindow, type Trajectory, trajectoryFold } from '../../core/trajectories/trajectory.js';
import { chargesByTurn } from '../budgets/charges.js';
import { seenEnvironment } from '../containers/environments.js';
import { breathe } from '../database/breathe.js';
import { shownRun } from '../integrity/legible-rows.js';
import { readLoggedEvents } from '../log/read-events.js';
import type { RunRow } from '../runs/run-row.js';
import { lastReward } from '../tasks/rewards.js';
import { diversityOfRun } from './trajectories.js';

/** At most so many are in memory at once. */
const EVENTS_AT_ONCE = 100;

/** What of a run only its row, and who judged it, say. Of a row that cannot be read `run.integrity` says so. */
export const runFactsOf = (row: RunRow, reward: RunFacts['reward']): RunFacts => ({
  run: shownRun(row, [], []),
  executionTimeMs: Number(row.active_ms),
  scaffold: row.scaffold,
  cancelReason: row.cancel_reason,
  reward,
});

/**
 * Reads the log of a run into its record; holds of it the steps of the window, and of the others counts. Throws the reason of the signal
 * when it fires.
 */
export async function readTrajectory(
  db: Knex,
  row: RunRow,
  window: StepWindow,
  signal?: AbortSignal,
): Promise<{ readonly record: Trajectory; readonly sketch: () => Sketch }> {
  const charges = await chargesByTurn(db, row.id);
  const fold = trajectoryFold(runFactsOf(row, await lastReward(db, row.id)), {
    chargesOf: (turn) => charges.get(turn) ?? [],
    window,
    diversityScore: await diversityOfRun(db, row.id),
    environment: await seenEnvironment(db, row.id),
  });
  let after = 0;
  for (;;) {
    const events = await readLoggedEvents(db, row.id, after, EVENTS_AT_ONCE);
    for (const event of events.rows) {
      fold.push(event);
      await breathe(signal);
    }
    if (!events.more) return fold.end();
    after = events.rows.at(-1)?.seq ?? after;
  }
}
