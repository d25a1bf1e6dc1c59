import { atMost } from './at-most.js';
import { inTurn } from './in-turn.js';
import type { Parts } from './parts.js';
import { replayRun } from './replay-run.js';
import type { Engine } from './verbs.js';

/** Each has a log in memory, and waits for models. */
const LIVE_AT_ONCE = 4;

/**
 * Replays, which end when whoever asked for them is gone, or the engine stops. Strict ones come one after the other, since each holds a
 * log in memory and the process with it; nobody waits for those that wait for models.
 */
export function replayVerb(up: () => Parts, ending: AbortSignal): Engine['replayRun'] {
  const strict = inTurn();
  const live = atMost(LIVE_AT_ONCE, 'live replays');
  return async (id, request, caller, { signal } = {}) => {
    const either = signal === undefined ? ending : AbortSignal.any([ending, signal]);
    return (request.liveModel === true ? live : strict)(async () => {
      either.throwIfAborted();
      return replayRun(up(), id, request, caller, either);
    });
  };
}
