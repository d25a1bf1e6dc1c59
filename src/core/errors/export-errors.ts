import { type ErrorRow, row } from './error-row.js';
import { OBJECT_STORE_ERRORS } from './object-store-errors.js';

/** Errors of exports, and of the stores that they go to. */
export const EXPORT_ERRORS = {
  export_unknown: row(404, 'stop', 'No such export', 'Check the id; `holdfast exports` lists the exports.'),
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
} as const satisfies Record<string, ErrorRow>;
