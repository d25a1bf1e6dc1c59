import { AsyncLocalStorage } from 'node:async_hooks';
import { Agent, getClientToolSearchExecutor, type Tool } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { owningThrows } from '../../steps/calls/late-throws.js';
import { hookPurely } from '../../steps/calls/pure-callbacks.js';
import { currentSegment, inStep, type SegmentContext } from '../segment-context.js';

/** What cannot run durably, and why: null where it can. */

const invalid = (message: string, hint?: string): HoldfastError =>
  new HoldfastError('agent_invalid', message, hint === undefined ? {} : { hint });

/** A function tool gets a guard, and a hosted tool runs at the provider, inside the model call. Everything else would run here. */
export function unsupportedTool(tool: Tool): HoldfastError | null {
  if (tool.type === 'function') return null;
  if (tool.type !== 'hosted_tool')
    return invalid(
      `The tool ${tool.name} is of the type ${tool.type}; only function tools and hosted tools can run durably.`,
    );
  if (getClientToolSearchExecutor(tool) === undefined) return null;
  return invalid(
    `The tool search of the agent has a function of its own (execute), and the tools that it gives would run outside of every guard.`,
    'Give the tools to the agent with deferLoading, and leave `execute` out.',
  );
}

/** By these methods the SDK asks an agent for what a model may call; they are patched with the guards. */
const PATCHED_METHODS = ['getAllTools', 'getEnabledHandoffs'] as const;

export function unsupportedAgent(agent: Agent): HoldfastError | null {
  if ('runtimeManifest' in agent)
    return invalid(`The agent ${agent.name} is one of a sandbox, which would be made and used outside of steps.`);
  const name = PATCHED_METHODS.find((method) => agent[method] !== Agent.prototype[method]);
  if (name === undefined) return null;
  return invalid(
    `The agent ${agent.name} has a ${name} of its own, which would hand out tools without their guards; or its Agent is that of another copy of @openai/agents.`,
    'Choose among tools and handoffs with their isEnabled.',
  );
}

/** An agent that a tool or callback runs: a judge, for example. What it called would run outside of every guard. */
export function unsupportedAgentInStep(agent: Agent, tools: readonly Tool[]): HoldfastError | null {
  const unsupported = tools.map(unsupportedTool).find((problem) => problem !== null);
  if (unsupported !== undefined) return unsupported;
  if (tools.every((tool) => tool.type === 'hosted_tool')) return null;
  return invalid(
    `The agent ${agent.name} has tools and would run inside a tool or callback, where no call is checked or recorded.`,
  );
}

/** A tool was invoked by code that runs in a run, as no model called it. */
export const unguarded = (tool: string): HoldfastError =>
  new HoldfastError(
    'tool_unguarded',
    `The tool ${tool} was invoked by code of a run, where its call is neither checked nor recorded.`,
    { hint: 'Call the function behind the tool, or let the model call it.' },
  );

/** Who hears of a refusal where the SDK would make a text of it, or no one would wait for it. */
type Listener =
  | { readonly type: 'body'; refusal: HoldfastError | null }
  | { readonly type: 'hook'; readonly scope: SegmentContext };
const listeners = new AsyncLocalStorage<Listener>();

/**
 * Refuses what would run outside of a guard. In the loop of an agent the run ends by it; in the body of a tool the call does. A
 * hook is waited for by no one, so that an error in one would end the process: it ends the run, and the hook never goes on.
 */
export async function refuse(error: HoldfastError): Promise<never> {
  const scope = currentSegment();
  const listener = listeners.getStore();
  const failed = { type: 'failed' as const, error: error.view() };
  if (typeof scope === 'object') scope.stop ??= failed;
  else if (listener?.type === 'hook') {
    listener.scope.stop ??= failed;
    return new Promise(() => {});
  } else if (listener?.type === 'body') listener.refusal ??= error;
  throw error;
}

/** Runs lifecycle hooks. What they do is their own affair, as in a step: it takes no steps. */
export const inHook = <T>(scope: SegmentContext, work: () => T): T => {
  const what = `a hook of the agent of ${scope.run.agent}`;
  const fail = ({ message }: Error): boolean => {
    const error = new HoldfastError('run_failed', `A hook threw where no one waited for it: ${message}`.slice(0, 4096));
    scope.stop ??= { type: 'failed', error: error.view() };
    return true;
  };
  const owner = { what, runId: scope.run.id, tool: null, callId: null, fail };
  const tell = (error: HoldfastError): void => {
    scope.stop ??= { type: 'failed', error: error.view() };
  };
  const called = (): T => (scope.run.pureCallbacks ? hookPurely(what, work, tell) : work());
  return owningThrows(owner, () => listeners.run({ type: 'hook', scope }, () => inStep(called)));
};

/** Runs the body of a tool of a plain SDK program. What was refused in it is its error, whatever text the SDK makes of that. */
export async function notingRefusals<T>(work: () => Promise<T>): Promise<T> {
  const listener: Listener = { type: 'body', refusal: null };
  const done = listeners.run(listener, work);
  const [result] = await Promise.allSettled([done]);
  if (listener.refusal !== null) throw listener.refusal;
  if (result?.status === 'rejected') throw result.reason;
  return done;
}
