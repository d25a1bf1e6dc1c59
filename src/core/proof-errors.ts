import { row } from './error-row.js';

/** Errors of proofs and of the log over all runs: a part of the one table of errors (error-table.ts). */
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
} as const;
