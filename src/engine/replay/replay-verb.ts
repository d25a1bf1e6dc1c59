import { counted } from '../../../steps/exports/counted-work.js';
import { atMost } from '../concurrency/at-most.js';
import { longWork } from '../concurrency/in-line.js';
import type { Parts } from '../parts.js';
import type { Engine } from '../verbs.js';
import { replayRun } from './replay-run.js';

/** Each has a log in memory, and waits for models. */
const LIVE_AT_ONCE = 4;
/** Each has a log in memory. */
const STRICT = { atOnce: 1, waiting: 64, what: 'replays' };

/**
 * Replays, which end when whoever asked for them is gone, or the engine stops. Strict ones come one after the other; nobody waits for
 * those that wait for models.
 */
export function replayVerb(up: () => Parts, ending: AbortSignal): Engine['replayRun'] {
  const strict = longWork(STRICT, ending);
  const live = atMost(LIVE_AT_ONCE, 'live replays');
  return async (id, request, caller, { signal } = {}) => {
    const replay = (until: AbortSignal) =>
      counted(up().world, { tenant: caller.tenant, name: `replay ${id}` }, () =>
        replayRun(up(), id, request, caller, until),
      );
    if (request.liveModel !== true) return strict(replay, signal);
    const either = signal === undefined ? ending : AbortSignal.any([ending, signal]);
    return live(async () => {
      either.throwIfAborted();
      return replay(either);
    });
  };
}
