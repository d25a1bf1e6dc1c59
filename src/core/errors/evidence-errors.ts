import { type ErrorRow, row } from './error-row.js';
import { HUB_ERRORS, OBJECT_STORE_ERRORS } from './store-errors.js';

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
    'Get the proof again, and the public key from someone you trust.',
  ),
  row_changed: row(
    500,
    'stop',
    'A row is not what the log says, or cannot be read',
    'Someone changed the database: `holdfast verify` names each such row of a run; start the run again, or repair it.',
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

/** Rows of the table of errors that erasures need. */
export const ERASURE_ERRORS = {
  run_not_over: row(
    409,
    'stop',
    'The run is not over',
    'Wait until the run that is named is over, or cancel it with `holdfast cancel`.',
  ),
  subject_erasing: row(
    409,
    'retry',
    'All runs of a subject are being erased',
    'Start the run when the erasure that is named is done.',
  ),
  erasure_unknown: row(404, 'stop', 'No such erasure', 'Check the id; the answer to the request had it.'),
  run_erased: row(410, 'stop', 'The content of the run was erased', 'Start a new run; nothing brings it back.'),
} as const;

/** Errors of exports, and of the stores that they go to. */
export const EXPORT_ERRORS = {
  export_unknown: row(404, 'stop', 'No such export', 'Check the id; `holdfast exports` lists the exports.'),
  export_file_unknown: row(
    404,
    'stop',
    'No such file of the export here',
    'Take a path of `files` of the export. Files in an object store, in a repository of a Hub, or on the disk of another server, are read there.',
  ),
  export_over: row(409, 'stop', 'The export is over', 'Read it: it says how it ended.'),
  export_exists: row(
    409,
    'stop',
    'There is something in the place of the export',
    'Use another folder, or move it away.',
  ),
  export_not_writable: row(
    507,
    'stop',
    'The export cannot be written',
    'Make room or give the server the right to write in its export directory, and start the export again.',
  ),
  export_too_slow: row(
    422,
    'stop',
    'A rule of the redaction takes too long',
    'Use simpler expressions: smaller counts in {}, fewer alternatives.',
  ),
  export_crashes: row(
    500,
    'stop',
    'Workers died with the export again and again',
    'Find out what ends the process at the piece that is named, such as memory; then export fewer runs, or smaller files.',
  ),
  export_failed: row(500, 'stop', 'The export stopped', 'Read the detail, and start it again.'),
  ...OBJECT_STORE_ERRORS,
  ...HUB_ERRORS,
} as const satisfies Record<string, ErrorRow>;
