import { row } from './error-row.js';

/** Errors of proofs, of repairs and of the log over all runs: a part of the one table of errors (error-table.ts). */
export const PROOF_ERRORS = {
  run_not_anchored: row(
    409,
    'stop',
    'No checkpoint commits to the run yet',
    'Wait some seconds, or sign now with `holdfast checkpoint --now`.',
  ),
  proof_invalid: row(
    409,
    'stop',
    'The proof proves nothing',
    'Get the proof anew, and the public key from somebody you trust.',
  ),
  row_changed: row(
    500,
    'stop',
    'A row of the run does not say what its log says',
    'Somebody changed the database: `holdfast verify` names each such row; start the run again, or repair it.',
  ),
  log_whole: row(
    409,
    'stop',
    'The log of the run is whole',
    'Nothing is to be repaired; `holdfast fork` goes on from an event of it.',
  ),
  log_lost: row(
    409,
    'stop',
    'Nothing of the log of the run is whole',
    'Start a new run; `holdfast repair` without `--apply` says what is still there of the old one.',
  ),
  repair_repeats: row(
    409,
    'stop',
    'The repaired run may make calls once more that have happened',
    'Look what each of them has done, and accept those that may be repeated by their ids.',
  ),
} as const;
