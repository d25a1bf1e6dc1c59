import { row } from './error-row.js';

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
