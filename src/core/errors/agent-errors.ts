import { type ErrorRow, row } from './error-row.js';

/** Errors of calls of models, of routers over them and of their recordings. */
export const MODEL_ERRORS = {
  model_failed: row(
    502,
    'retry',
    'The model call failed',
    'Read the detail; check the key, the name of the model and the provider.',
  ),
  model_refused: row(
    502,
    'stop',
    'The provider refuses the model call',
    'Read the detail; check the key, the account and what the model takes.',
  ),
  answer_truncated: row(
    502,
    'stop',
    'The answer of the model was cut at its limit of tokens',
    'Raise maxTokens of the model settings, give the agent smaller steps, or let it go on (onTruncated).',
  ),
  answer_filtered: row(
    502,
    'stop',
    'The content filter of the provider withheld an answer',
    'Read the answer in the log; change what is asked, or the model.',
  ),
  too_many_calls: row(
    502,
    'stop',
    'An answer of the model makes too many calls',
    'Read the answer in the log; tell the model to make fewer calls at once, or take another model.',
  ),
  context_missing: row(
    422,
    'stop',
    'Code of the agent reads a context that the run does not have',
    'Start the run with `context`; its agent must declare it (defineAgent({ context })).',
  ),
  context_invalid: row(
    422,
    'stop',
    'Code of the agent put something into the context that cannot be kept',
    'Keep JSON of at most 256 KiB in RunContext.context; the detail says what was found.',
  ),
  state_missing: row(
    422,
    'stop',
    'Code reads the state of a run that has none',
    'Declare it (defineAgent({ state })) and start a new run; docs/agents/state.md.',
  ),
  state_invalid: row(
    422,
    'stop',
    'The state of a run cannot be that',
    'Read the detail: the state is a JSON object of at most 64 KiB that fits its schema; docs/agents/state.md.',
  ),
  model_unknown: row(
    400,
    'stop',
    'No provider for this model',
    'Use one of the prefixes in the detail or add a provider.',
  ),
  route_impossible: row(
    422,
    'stop',
    'No model of the router can serve the request',
    'Add a candidate that can; the detail says what each lacks.',
  ),
  route_failed: row(
    502,
    'retry',
    'No model of the router answered',
    'Read the detail, which has the reason of each; try again when one of them works.',
  ),
  cassette_invalid: row(
    500,
    'stop',
    'A recording of a model cannot be used',
    'Read the detail; docs/models/cassettes.md says what a cassette is.',
  ),
  cassette_unmatched: row(
    500,
    'stop',
    'The request is on no cassette',
    'Ask as it was recorded, or record it again: docs/models/cassettes.md.',
  ),
} as const satisfies Record<string, ErrorRow>;

/** How the body of a tool can fail: part of the one table of errors (error-table.ts). */
export const TOOL_ERRORS = {
  tool_timeout: row(500, 'stop', 'A tool took too long', 'Raise its timeoutMs, or make it faster.'),
  tool_memory: row(
    500,
    'stop',
    'A tool took more memory than it may',
    'Raise limits.memoryMb of the tool, or have it hold less at once.',
  ),
  tool_cpu: row(
    500,
    'stop',
    'A tool computed for longer than it may',
    'Raise limits.cpuSeconds of the tool, or make it faster.',
  ),
  tool_exited: row(
    500,
    'stop',
    'The thread or process of a tool ended',
    'Read the detail; the log has what it wrote to its standard error.',
  ),
  tool_failed: row(500, 'stop', 'A tool failed', 'Read the detail; the tool threw it.'),
  tool_raised: row(
    500,
    'stop',
    'A tool without an errorFunction failed, which ends the run',
    'Read the detail. With an errorFunction of the SDK the model reads why it failed instead.',
  ),
} as const;

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

/** Errors of patches of agents: part of the one table of errors (error-table.ts). */
export const EVOLUTION_ERRORS = {
  patch_invalid: row(
    422,
    'stop',
    'The patch cannot be applied',
    'Correct the operation that is named; read the definition that the patch starts from.',
  ),
  patch_widens_grants: row(
    403,
    'stop',
    'The patch would let the agent reach more',
    'Change grants, tools and handoffs in the configuration, which people review; a patch cannot.',
  ),
  patch_loosens_approval: row(
    403,
    'stop',
    'The patch would have fewer people asked',
    'Change rules of approval in the configuration, which people review; a patch cannot.',
  ),
  patch_out_of_reach: row(
    403,
    'stop',
    'The patch changes what no patch may change',
    'Patch instructions, model, modelSettings, or take tools and handoffs away; of a plan, patch its nodes and its output.',
  ),
  patch_stale: row(
    409,
    'stop',
    'The patch starts from another definition',
    'Read the present definition (`holdfast evolve status`), and propose a patch of that.',
  ),
  agent_version_none: row(
    409,
    'stop',
    'No version of the agent is live',
    'Propose a patch first; without one, runs have the definition of the configuration.',
  ),
} as const satisfies Record<string, ErrorRow>;

/** Errors of memory: part of the one table of errors (error-table.ts). */
export const MEMORY_ERRORS = {
  memory_unknown: row(
    404,
    'stop',
    'There is no such memory',
    'Read the detail: declare the space (defineAgent({ memory })), or use a key that is there; docs/agents/memory.md.',
  ),
  memory_invalid: row(
    422,
    'stop',
    'A document of memory cannot be that',
    'Read the detail: a document is a JSON object within its bounds that fits the schema of its space; docs/agents/memory.md.',
  ),
  memory_without_owner: row(
    422,
    'stop',
    'The run has none of what the scope of the space is',
    'Start the run in a session (scope session), or with exactly one subject (scope user).',
  ),
} as const satisfies Record<string, ErrorRow>;
