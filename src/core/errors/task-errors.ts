import { type ErrorRow, row } from './error-row.js';

/** Errors of tasks: of definitions, of those that were submitted, and of their verification. */
export const TASK_ERRORS = {
  task_invalid: row(
    422,
    'stop',
    'The task definition is not valid',
    'Correct the fields that are named; docs/tasks/definition.md describes each one.',
  ),
  task_parameters_invalid: row(
    422,
    'stop',
    'The parameters do not fit the task',
    'Give each parameter that the definition names a value that it allows.',
  ),
  task_inconvertible: row(
    422,
    'stop',
    'The task cannot be converted',
    'Read the detail, which names what the other format cannot say.',
  ),
  task_unreadable: row(
    422,
    'stop',
    'The task cannot be read',
    'Read the detail, which names the file and what is wrong.',
  ),
  artifacts_unwritable: row(
    503,
    'retry',
    'Artifacts cannot be kept',
    'Make the directory of HOLDFAST_ARTIFACTS writable for the worker, and give its disk room.',
  ),
  artifacts_unreadable: row(
    503,
    'retry',
    'Artifacts cannot be read',
    'Give this process the same HOLDFAST_ARTIFACTS as the workers, and let it read there.',
  ),
  artifact_unknown: row(404, 'stop', 'No such artifact', 'Check the name; `holdfast artifacts <run>` lists them.'),
  artifact_damaged: row(
    409,
    'stop',
    'The artifact is not what the log names',
    'Give this process the same HOLDFAST_ARTIFACTS as the workers; otherwise restore the object from a backup.',
  ),
  task_unknown: row(404, 'stop', 'No such task', 'Check the id; `holdfast task list` lists the tasks you can see.'),
  alert_unknown: row(
    404,
    'stop',
    'No such alert rule',
    'Check the name; `holdfast alerts` lists the rules you can see.',
  ),
  batch_unknown: row(404, 'stop', 'No such batch', 'Check the key; `holdfast batches` lists the batches you can see.'),
  task_definition_unknown: row(
    404,
    'stop',
    'No such task definition',
    'Check name and version, or submit the definition itself.',
  ),
  task_definition_taken: row(
    409,
    'stop',
    'Another task definition has this name and version',
    'Give the changed task a new version, or name the one that was submitted before.',
  ),
  task_definition_deprecated: row(
    409,
    'stop',
    'The task definition is deprecated',
    'Read the reason, then use another version; an operator can take the deprecation back.',
  ),
  dataset_unknown: row(
    404,
    'stop',
    'No such dataset',
    'Check name and version; `holdfast dataset list` lists the datasets you can see.',
  ),
  dataset_taken: row(
    409,
    'stop',
    'Another dataset has this name and version',
    'Give the changed dataset a new version.',
  ),
  task_over: row(
    409,
    'stop',
    'The task is over',
    'Nothing is left to cancel; submit another one if it is still wanted.',
  ),
  task_not_dead: row(
    409,
    'stop',
    'The task cannot be put back',
    'Read the task: only one that failed by an error, and that no attempt follows, can be; else submit another one.',
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
