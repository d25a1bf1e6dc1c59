import { type ErrorRow, row } from './error-row.js';

/** Errors of tasks that were submitted, and of their verification. */
export const SUBMISSION_ERRORS = {
  task_unknown: row(404, 'stop', 'No such task', 'Check the id; `holdfast task list` lists the tasks you can see.'),
  task_definition_unknown: row(
    404,
    'stop',
    'No such task definition',
    'Check name and version, or submit the definition itself.',
  ),
  task_over: row(
    409,
    'stop',
    'The task is over',
    'Nothing is left to cancel; submit another one if it is still wanted.',
  ),
  reward_unknown: row(
    404,
    'stop',
    'No such reward function',
    'Use one of `rewards` of holdfast.config.ts, which every worker must have; the detail lists them.',
  ),
  verification_failed: row(
    500,
    'stop',
    'The verification of the task could not be finished',
    'Read the detail; correct the task or its reward function, then submit it again.',
  ),
} as const satisfies Record<string, ErrorRow>;
