import type { HoldfastError } from '../../core/errors/errors.js';
import type { ReplayReport } from '../../core/replay/replay.js';

/** The report on a run that cannot be replayed. */
export const unreplayed = (
  report: Pick<ReplayReport, 'runId' | 'mode' | 'from'>,
  error: HoldfastError,
): ReplayReport => ({
  ...{ ...report, result: 'cannot_replay', events: 0, upTo: 0, whole: false, differences: [] },
  ...{ moreDifferences: 0, executed: 0, notCompared: [], live: null, reason: error.view() },
});
