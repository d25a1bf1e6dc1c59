import { type ErrorRow, row } from './error-row.js';

/** Errors of state machines: part of the one table of errors (error-table.ts). */
export const MACHINE_ERRORS = {
  machine_invalid: row(
    422,
    'stop',
    'The state machine is not valid',
    'Correct what the detail names; docs/agents/state-machines.md.',
  ),
  machine_failed: row(
    500,
    'stop',
    'The transition of a state machine failed',
    'Read the detail, which names state and event; correct the transition, and fork or retry the run.',
  ),
} as const satisfies Record<string, ErrorRow>;
