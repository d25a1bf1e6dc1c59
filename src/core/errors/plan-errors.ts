import { type ErrorRow, row } from './error-row.js';

/** Errors of plans: part of the one table of errors (error-table.ts). */
export const PLAN_ERRORS = {
  plan_invalid: row(422, 'stop', 'The plan is not valid', 'Correct the places that are named; docs/agents/plans.md.'),
  plan_failed: row(
    500,
    'stop',
    'A node of the plan failed',
    'Read the detail, which names the node; fork the run from an earlier event, or start it again.',
  ),
  plan_undo_failed: row(
    500,
    'pause',
    'A plan failed, and what it had done could not be undone',
    'Read the detail, which names what was not undone; a person must look at it.',
  ),
  plan_changed: row(
    409,
    'stop',
    'The plan does not fit what the run has done',
    'Give the plan its former nodes back and retry the run, or start a new one.',
  ),
  plan_not_granted: row(
    403,
    'stop',
    'The grants do not cover what the plan may need',
    'Grant what the detail names, or narrow the run less.',
  ),
} as const satisfies Record<string, ErrorRow>;
