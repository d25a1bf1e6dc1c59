import type { Caller } from '../../core/caller.js';
import { HoldfastError, isOfOne } from '../../core/errors/errors.js';
import type { DecidedMany, DecideMany } from '../../core/interruptions/decide-many.js';
import type { InterruptionView } from '../../core/interruptions/interruption.js';
import type { UntilSignal } from '../concurrency/concurrency-limits.js';
import type { EngineContext } from '../engine-context.js';
import { decide, getInterruption } from './interruption-operations.js';

/** Decisions of one request that are worked on together. */
const TOGETHER = 4;

/** What is decided by itself only: an answer to it says more than yes or no, or a person has to look closely. */
function assertPlain({ id, kind, reason }: InterruptionView): void {
  if (kind === 'approval' && reason.code !== 'unknown_effect') return;
  const what = reason.code === 'unknown_effect' ? 'a call that may have happened' : `of the kind ${kind}`;
  throw new HoldfastError('verdict_not_allowed', `${id} is ${what}: it is decided by itself.`);
}

/** Decides each by itself: what is refused of one stops none of the others. */
export async function decideMany(
  context: EngineContext,
  { verdict, items, message }: DecideMany,
  caller: Caller,
  { signal }: UntilSignal = {},
): Promise<DecidedMany> {
  const said = message === undefined ? {} : { message };
  const one = async (id: string, digest: string): Promise<DecidedMany['items'][number]> => {
    try {
      signal?.throwIfAborted();
      assertPlain(await getInterruption(context, id, caller));
      const { status } = await decide(context, id, { verdict, digest, ...said }, caller);
      return { id, status, error: null };
    } catch (error) {
      if (signal?.aborted === true || !isOfOne(error)) throw error;
      return { id, status: null, error: { code: error.code, detail: error.message } };
    }
  };
  const unique = [...new Map(items.map(({ id, digest }) => [id, digest]))];
  const decided: DecidedMany['items'] = [];
  for (let at = 0; at < unique.length; at += TOGETHER)
    decided.push(...(await Promise.all(unique.slice(at, at + TOGETHER).map(([id, digest]) => one(id, digest)))));
  return { items: decided };
}
