import { type Agent, RunContext, RunState } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';

/**
 * Every undocumented member of the Agents SDK that we read or write. `test/engine/agents/sdk-internals.test.ts` names the
 * member that a new release of the SDK changed.
 */

type State = RunState<unknown, Agent>;

/** Throws `library_changed` unless the SDK still has the method that a patch replaces. */
export function assertMethod(name: string, method: unknown): void {
  if (typeof method === 'function') return;
  throw new HoldfastError(
    'library_changed',
    `${name} of @openai/agents is not a function in this release. Install the release that package.json names.`,
  );
}

type Check = (value: unknown) => boolean;

/** The private fields of `RunState`, with what we rely on in a state that has not run. */
const RUN_STATE_FIELDS = new Map<keyof State, Check>([
  ['_currentAgent', (value) => typeof value === 'object' && value !== null],
  ['_context', (value) => value instanceof RunContext],
  ['_originalInput', (value) => value === 'input'],
  ['_generatedItems', Array.isArray],
  ['_modelResponses', Array.isArray],
  ['_lastProcessedResponse', (value) => value === undefined],
  ['_currentStep', (value) => value === undefined],
  ['_completedToolInvocations', (value) => value instanceof Map],
  ['_completedToolInvocationEvidence', (value) => value instanceof Map],
]);

/** Throws `library_changed`, with the name of the field, if a fresh state does not look as this file expects. */
export function assertRunStateFields(
  agent: Agent,
  state: object = new RunState<unknown, Agent>(new RunContext<unknown>(), 'input', agent, null),
): void {
  for (const [field, isExpected] of RUN_STATE_FIELDS) {
    if (field in state && isExpected(Reflect.get(state, field))) continue;
    throw new HoldfastError(
      'library_changed',
      `RunState.${field} of @openai/agents is not what it was. Install the release that package.json names.`,
    );
  }
}

/** What code gets of the run that a state is of. */
export const runContextOf = (state: State): RunContext<unknown> => state._context;

/** The agent that works, after handoffs. */
export const workingAgent = (state: State): Agent => state._currentAgent;

/** All responses of models so far. */
export const modelResponses = (state: State): State['_modelResponses'] => state._modelResponses;

/** The input of the run, in front of the generated items. */
export const originalInput = (state: State): State['_originalInput'] => state._originalInput;

/** The items that the run made, in order. */
export const generatedItems = (state: State): State['_generatedItems'] => state._generatedItems;

export function setGeneratedItems(state: State, items: State['_generatedItems']): void {
  state._generatedItems = items;
}

/** Lets a state begin with these items, and with no input before them. */
export function startWithItems(state: State, items: State['_generatedItems']): void {
  state._originalInput = [];
  state._generatedItems = items;
}

/** The first item of the last response; undefined: there was no response. */
export const firstOfLastResponse = (state: State): State['_generatedItems'][number] | undefined =>
  state._lastProcessedResponse?.newItems[0];

/** The calls that have ended, by agent. The SDK compares each of them with every generated item. */
export interface EndedCalls {
  readonly invocations: State['_completedToolInvocations'];
  readonly evidence: State['_completedToolInvocationEvidence'];
}

export const endedCalls = (state: State): EndedCalls => ({
  invocations: state._completedToolInvocations,
  evidence: state._completedToolInvocationEvidence,
});

export function setEndedCalls(state: State, { invocations, evidence }: EndedCalls): void {
  state._completedToolInvocations = invocations;
  state._completedToolInvocationEvidence = evidence;
}

/**
 * Forgets the last response if it handed over: the SDK cannot read it again, since it looks up tools and handoffs at the
 * new agent. The response is over by then, and the SDK forgets it too when it resumes into a handoff.
 */
export function forgetHandoffResponse(state: State): void {
  const handedOff = (state._lastProcessedResponse?.handoffs.length ?? 0) > 0;
  if (handedOff && state._currentStep?.type === 'next_step_run_again') state._lastProcessedResponse = undefined;
}
