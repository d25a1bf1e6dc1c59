import { type ErrorRow, row } from './error-row.js';

/** Errors of tasks. */
export const TASK_ERRORS = {
  task_invalid: row(
    422,
    'stop',
    'The task definition is not valid',
    'Correct the fields that are named; docs/tasks.md tells each one.',
  ),
  task_parameters_invalid: row(
    422,
    'stop',
    'The parameters do not fit the task',
    'Give each parameter that the definition names a value that it allows.',
  ),
  task_unreadable: row(
    422,
    'stop',
    'The task cannot be read',
    'Read the detail, which names the file and what is wrong.',
  ),
} as const satisfies Record<string, ErrorRow>;
