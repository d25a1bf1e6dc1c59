import {
  EVOLUTION_ERRORS,
  MACHINE_ERRORS,
  MEMORY_ERRORS,
  MODEL_ERRORS,
  PLAN_ERRORS,
  SUB_AGENT_ERRORS,
  TOOL_ERRORS,
} from './agent-errors.js';
import { ENVIRONMENT_ERRORS } from './environment-errors.js';
import { type ErrorRow, row } from './error-row.js';
import { ERASURE_ERRORS, EXPORT_ERRORS, PROOF_ERRORS } from './evidence-errors.js';
import { PROCESS_ERRORS } from './process-errors.js';
import { TASK_ERRORS } from './task-errors.js';

type Rows = Readonly<Record<string, ErrorRow>>;

const REQUEST_ERRORS = {
  malformed_json: row(400, 'stop', 'The body is not valid JSON', 'Send one JSON document in UTF-8.'),
  invalid_request: row(400, 'stop', 'The request is not valid', 'Correct the fields that are named and send it again.'),
  unsupported_media_type: row(415, 'stop', 'The body is not JSON', 'Send `Content-Type: application/json`.'),
  body_too_large: row(
    413,
    'stop',
    'The body is too large',
    'Send less, or raise HOLDFAST_MAX_BODY_BYTES; for a task HOLDFAST_MAX_TASK_BYTES.',
  ),
  unauthenticated: row(
    401,
    'stop',
    'No valid token',
    'Send `Authorization: Bearer <token>` with a token of this server.',
  ),
  forbidden: row(403, 'stop', 'The role does not allow this', 'Use a token whose role is high enough.'),
  cross_site: row(
    403,
    'stop',
    'Another site asked',
    'Ask from the console itself, or with a bearer token outside of a browser.',
  ),
  tls_required: row(
    403,
    'stop',
    'Browsers sign in over TLS alone',
    'Open the console at localhost, or put a proxy with TLS before the server and set HOLDFAST_PUBLIC_URL to its https:// address.',
  ),
  host_refused: row(
    421,
    'stop',
    'The host name is not one of this server',
    'Use 127.0.0.1 or localhost in the address.',
  ),
  not_found: row(404, 'stop', 'Nothing is here', 'Check the address; /api/v1/openapi.json lists every route.'),
  method_not_allowed: row(405, 'stop', 'The method is not allowed here', 'Use one of the methods in the Allow header.'),
  idempotency_key_reused: row(
    422,
    'stop',
    'The Idempotency-Key was used for another request',
    'Use a new key for a new request.',
  ),
  events_full: row(429, 'retry', 'Too many events are kept', 'Start the runs that wait for them, or send them later.'),
  rate_limited: row(429, 'retry', 'Too many requests', 'Wait for the seconds in Retry-After and try again.'),
} satisfies Rows;

const LOOKUP_ERRORS = {
  agent_unknown: row(404, 'stop', 'No such agent', 'Use an agent of holdfast.config.ts; the detail lists them.'),
  run_unknown: row(404, 'stop', 'No such run', 'Check the id; `holdfast runs` lists the runs you can see.'),
  event_unknown: row(
    404,
    'stop',
    'No such event',
    'Check the number; `holdfast events <run>` lists the events of a run.',
  ),
  interruption_unknown: row(404, 'stop', 'No such interruption', 'Check the id; `holdfast inbox` lists what waits.'),
  session_unknown: row(404, 'stop', 'No such session', 'Check the id; `holdfast sessions` lists the sessions.'),
  session_busy: row(
    409,
    'retry',
    'A run is in the session',
    'Wait until the run that is named is over, cancel it, or use another session.',
  ),
  session_full: row(409, 'stop', 'The session has reached its bound', 'Go on in another session, or delete this one.'),
  standing_decision_unknown: row(
    404,
    'stop',
    'No such standing decision',
    'Check the id; `holdfast standing-decisions <run>` lists those of a run.',
  ),
  worker_unknown: row(404, 'stop', 'No such worker', 'Check the id; `holdfast workers` lists the workers.'),
  state_unknown: row(404, 'stop', 'No such saved run state', 'Check the name that it was saved under.'),
} satisfies Rows;

const DECISION_ERRORS = {
  decision_conflict: row(
    409,
    'stop',
    'It was decided differently before',
    'Read the interruption: its decision stands.',
  ),
  interruption_expired: row(
    409,
    'stop',
    'The time to decide is over',
    'Nothing was executed; start a new run if it is still wanted.',
  ),
  interruption_cancelled: row(
    409,
    'stop',
    'The run was cancelled or has ended',
    'Start a new run if it is still wanted.',
  ),
  verdict_not_allowed: row(
    409,
    'stop',
    'This interruption takes another verdict',
    'Use one of the verdicts in the detail.',
  ),
  plain_approval_only: row(
    409,
    'stop',
    'This interruption takes no edit and no standing decision',
    'Approve it without `arguments` and without `always`, or reject it.',
  ),
  requester_may_not_approve: row(
    403,
    'stop',
    'Who asked for the run may not approve its calls',
    'Have someone else approve it, or reject it.',
  ),
  call_unfit: row(
    409,
    'stop',
    'The call would not run as its tool is now',
    'Approve it with `arguments` that fit, or reject it.',
  ),
  digest_mismatch: row(
    409,
    'stop',
    'The decision is about something else',
    'Read the interruption again and decide on what it says now.',
  ),
  fork_invalid: row(
    422,
    'stop',
    'The run cannot be forked like this',
    'Read the detail; `holdfast events <run>` lists what there is.',
  ),
  run_not_failed: row(409, 'stop', 'Only a failed run can be retried', 'Fork it instead: `holdfast fork`.'),
  run_over: row(409, 'stop', 'The run is over', 'Start a new run.'),
  run_begun: row(
    409,
    'stop',
    'The run has begun',
    'Cancel it with `holdfast cancel` if it still works; its log is kept.',
  ),
  run_referenced: row(409, 'stop', 'Another run refers to the run', 'Cancel it with `holdfast cancel`; it is kept.'),
} satisfies Rows;

const RUN_ERRORS = {
  limit_turns: row(
    409,
    'stop',
    'The run reached its limit of turns',
    'Raise maxTurns, or give the agent a smaller job.',
  ),
  limit_budget: row(
    409,
    'stop',
    'A budget has no room for the next model call',
    'Raise the budget that is named, or wait for the next day if it is a daily one.',
  ),
  price_unknown: row(
    409,
    'stop',
    'No price of the model is known, and a budget applies',
    'Give its price in `prices`, or a ceiling in `unknownPrice`.',
  ),
  limit_tokens: row(
    409,
    'stop',
    'The run reached its limit of tokens',
    'Raise the budget, or give the agent a smaller job.',
  ),
  limit_wall_time: row(
    409,
    'stop',
    'The run reached its limit of time',
    'Raise maxDurationMs, or give the agent a smaller job.',
  ),
  limit_elapsed: row(
    409,
    'stop',
    'The time of the plan from its start was over, and what it had done was undone',
    'Raise maxElapsedMs, or give the plan less to do; then start it again.',
  ),
  run_stalled: row(
    504,
    'retry',
    'The run made no progress',
    'See in its log what it was doing; raise `stalls.afterMs` where that may take so long, then retry the run: `holdfast retry`.',
  ),
  limit_crashes: row(
    500,
    'stop',
    'Workers died with the run again and again',
    'Find out what ends the process in its next step, then retry the run: `holdfast retry`.',
  ),
  capability_denied: row(
    403,
    'stop',
    'A tool call was not granted',
    'Grant the capability to the agent, or leave the tool out.',
  ),
  ...MODEL_ERRORS,
  ...TOOL_ERRORS,
  mcp_unreachable: row(
    502,
    'retry',
    'An MCP server cannot be reached',
    'Start the server, or correct its command or address.',
  ),
  mcp_list_invalid: row(
    502,
    'stop',
    'The tool list of an MCP server cannot be used',
    'Correct the server, or take it from the agent.',
  ),
  mcp_tool_changed: row(
    409,
    'stop',
    'A tool of an MCP server is not what the run was given',
    'Look at what changed; start a new run, which is given the new definition.',
  ),
  tool_unguarded: row(
    500,
    'stop',
    'A tool would have run without its guard',
    'Report this: it is a fault of Holdfast.',
  ),
  guardrail_tripped: row(
    422,
    'stop',
    'A guardrail stopped the run',
    'Read the detail; the guardrail of the agent said so.',
  ),
  guardrail_rejected: row(
    422,
    'stop',
    'A guardrail kept back what a tool returned',
    'Read the detail; it is what the model read instead.',
  ),
  guardrail_failed: row(
    500,
    'stop',
    'A guardrail could not say whether the run may go on',
    'Read the detail; mend the guardrail of the agent.',
  ),
  callback_not_pure: row(
    500,
    'stop',
    'A callback of the agent read or wrote something outside of its arguments',
    'Do that in a tool, or leave `callbacks` of the agent out; docs/replay/pure-callbacks.md.',
  ),
  output_invalid: row(
    502,
    'stop',
    'The model did not give the output that the agent declares',
    'Read the detail: check outputType, and the tools that the agent has.',
  ),
  run_failed: row(500, 'stop', 'The run failed', 'Read the detail.'),
  payload_too_large: row(
    413,
    'stop',
    'A value is larger than its bound',
    'Make it smaller, or raise the bound that is named.',
  ),
  value_not_json: row(
    422,
    'stop',
    'A value is not plain JSON',
    'Return only plain objects, arrays, strings, finite numbers, booleans and null.',
  ),
  wait_invalid: row(
    422,
    'stop',
    'This cannot be waited for',
    'Correct what is named; docs/approvals/waiting.md says how.',
  ),
} satisfies Rows;

const EVIDENCE_ERRORS = {
  log_broken: row(409, 'stop', 'The event log does not verify', 'Read the report: it names the first broken event.'),
  ...PROOF_ERRORS,
  replay_diverged: row(
    500,
    'stop',
    'A replay did something else than was recorded',
    'Make the callback deterministic; docs/replay/callbacks.md explains how.',
  ),
  state_unreadable: row(
    500,
    'stop',
    'A saved run state cannot be read',
    'Give the agent back what the detail names, or fork the run from an event before that.',
  ),
} satisfies Rows;

const AGENT_ERRORS = {
  capability_invalid: row(
    400,
    'stop',
    'Not a capability',
    'Write domain:action:scope; docs/agents/grants.md has the grammar.',
  ),
  grants_widened: row(
    403,
    'stop',
    'A run cannot hold more than its agent',
    'Ask for a subset of what the agent is granted.',
  ),
  agent_invalid: row(400, 'stop', 'The agent is not valid', 'Correct the field that is named.'),
  tool_invalid: row(400, 'stop', 'The tool is not valid', 'Correct the field that is named.'),
} satisfies Rows;

/** The one table of errors. */
export const ERRORS = {
  ...REQUEST_ERRORS,
  ...LOOKUP_ERRORS,
  ...DECISION_ERRORS,
  ...RUN_ERRORS,
  ...EVIDENCE_ERRORS,
  ...AGENT_ERRORS,
  ...ENVIRONMENT_ERRORS,
  ...ERASURE_ERRORS,
  ...TASK_ERRORS,
  ...SUB_AGENT_ERRORS,
  ...PLAN_ERRORS,
  ...MACHINE_ERRORS,
  ...EVOLUTION_ERRORS,
  ...MEMORY_ERRORS,
  ...EXPORT_ERRORS,
  ...PROCESS_ERRORS,
} as const satisfies Rows;

/** A section of the reference page: `npm run docs` writes docs/errors.md from it. */
interface ErrorGroup {
  readonly title: string;
  /** Markdown above the table; null = none. */
  readonly about: string | null;
  readonly rows: Rows;
}

export const ERROR_GROUPS: readonly ErrorGroup[] = [
  { title: 'Requests', about: null, rows: REQUEST_ERRORS },
  { title: 'Things', about: null, rows: LOOKUP_ERRORS },
  { title: 'Decisions', about: null, rows: DECISION_ERRORS },
  { title: 'How a run fails', about: null, rows: RUN_ERRORS },
  { title: 'Evidence', about: 'See [evidence](evidence/README.md).', rows: EVIDENCE_ERRORS },
  { title: 'Erasure', about: 'See [retention](operate/retention.md).', rows: ERASURE_ERRORS },
  { title: 'Capabilities and agents', about: null, rows: AGENT_ERRORS },
  {
    title: 'Sub-agents',
    about:
      "Outcomes of calls, and errors of runs whose sub-agent has `onFailure: 'fail'`: see [sub-agents](agents/sub-agents.md).",
    rows: SUB_AGENT_ERRORS,
  },
  { title: 'Plans', about: 'See [plans](agents/plans.md).', rows: PLAN_ERRORS },
  { title: 'State machines', about: 'See [state machines](agents/state-machines.md).', rows: MACHINE_ERRORS },
  { title: 'Memory', about: 'See [memory](agents/memory.md).', rows: MEMORY_ERRORS },
  { title: 'Patches of agents', about: 'See [patches of agents](agents/evolution.md).', rows: EVOLUTION_ERRORS },
  {
    title: 'Containers',
    about:
      'These end the run of the call that fails, except `file_unreadable` and `file_unwritable`, which the model reads. ' +
      'See [environments](containers/README.md) and [scaffolds](containers/scaffolds.md).',
    rows: ENVIRONMENT_ERRORS,
  },
  { title: 'Tasks', about: 'See [tasks](tasks/README.md).', rows: TASK_ERRORS },
  {
    title: 'Exports',
    about: 'A failed export has one of these, except `export_unknown` and `export_over`: see [export](data/export.md).',
    rows: EXPORT_ERRORS,
  },
  { title: 'Starting and running a process', about: null, rows: PROCESS_ERRORS },
];
