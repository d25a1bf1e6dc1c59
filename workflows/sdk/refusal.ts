import { AsyncLocalStorage } from 'node:async_hooks';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { owningThrows } from '../../steps/calls/late-throws.js';
import { currentSegment, inStep, type SegmentContext } from '../segment-context.js';

/** Who hears of a refusal where the SDK would make a text of it, or nobody would wait for it. */
type Listener =
  | { readonly type: 'body'; refusal: HoldfastError | null }
  | { readonly type: 'hook'; readonly scope: SegmentContext };
const listeners = new AsyncLocalStorage<Listener>();

/**
 * Refuses what would run outside of a guard. In the loop of an agent the run ends by it; in the body of a tool the call does. A
 * hook is waited for by nobody, so that an error in one would end the process: it ends the run, and the hook never goes on.
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
    const error = new HoldfastError('run_failed', `A hook threw where nobody waited for it: ${message}`.slice(0, 4096));
    scope.stop ??= { type: 'failed', error: error.view() };
    return true;
  };
  const owner = { what, runId: scope.run.id, tool: null, callId: null, fail };
  return owningThrows(owner, () => listeners.run({ type: 'hook', scope }, () => inStep(work)));
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
