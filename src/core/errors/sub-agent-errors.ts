import { type ErrorRow, row } from './error-row.js';

/** Errors of calls that run another agent. */
export const SUB_AGENT_ERRORS = {
  sub_agent_failed: row(
    502,
    'stop',
    'A sub-agent did not complete its job',
    'Read the run that the detail names; it says why it failed.',
  ),
  sub_agent_cancelled: row(
    409,
    'stop',
    'The run of a sub-agent was cancelled',
    'Read the run that the detail names; it says by whom and why.',
  ),
  sub_agent_too_deep: row(
    409,
    'stop',
    'Too many sub-agents below one another',
    'Raise maxDepth of the tool (at most 10), or let an agent above do the job.',
  ),
  sub_agent_cycle: row(
    409,
    'stop',
    'A sub-agent is at work above itself',
    'Give the job to another agent, or take the tool away from the agents below.',
  ),
} as const satisfies Record<string, ErrorRow>;
