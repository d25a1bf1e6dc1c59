import { HoldfastError } from '../core/errors.js';
import type { StopMode } from '../core/worker.js';
import { forgetStarts, keySegments } from '../storage/dispatch-limits.js';
import { dropExpiredEvents } from '../storage/emitted-events.js';
import { cancelledAmong } from '../storage/runs.js';
import { dueTimers } from '../storage/timers.js';
import { beat, forgetOldWorkers } from '../storage/workers.js';
import { besideTheBeat } from './beside-the-beat.js';
import type { DatabaseClock } from './database-clock.js';
import { goOnErasing } from './erase-subject.js';
import { indexDue } from './index-trajectories.js';
import { expire } from './interruption-verbs.js';
import type { Parts } from './parts.js';
import { rebuildLeft } from './rebuild-left.js';
import { retain } from './retention.js';
import { retryTasks } from './retry-tasks.js';
import { SEGMENT_QUEUE } from './segment-queue.js';
import { setBackWatch } from './set-back-watch.js';
import { settleContainers } from './settle-containers.js';
import { strayWatch, sweep } from './sweep.js';
import { deathWatch } from './takeover.js';
import { tellStalls } from './tell-stalls.js';
import { tellSystem } from './tell-system.js';

const BEAT_MS = 1000;
const TIMERS_AT_ONCE = 100;
const SWEEP_EVERY_BEATS = 5;
const FORGET_EVERY_BEATS = 3600;
const EVENTS_AT_ONCE = 1000;

export interface BeatEnds {
  /** A newer process has the worker id. */
  readonly superseded: (error: HoldfastError) => void;
  readonly stopAsked: (mode: StopMode) => void;
}

/**
 * What a worker does once a second: says that it lives, settles what is due, takes over what the dead have left, and looks for
 * runs of its own that were cancelled elsewhere. Returns a function that stops it.
 */
export function startBeating(
  parts: Parts,
  clock: DatabaseClock,
  { superseded, stopAsked }: BeatEnds,
): () => Promise<void> {
  const { world } = parts;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let current: Promise<void> = Promise.resolve();
  const watchTheDead = deathWatch(parts);
  const watchStrays = strayWatch(parts);
  const watchTimeOfDay = setBackWatch(parts);
  const anchoring = besideTheBeat(() => parts.anchor.beat());
  const trajectories = besideTheBeat((isStopping) => indexDue(parts, isStopping));
  const system = besideTheBeat(() => tellSystem(parts));
  const attempts = besideTheBeat((isStopping) => retryTasks(parts, isStopping));
  let beats = 0;
  const containers = settleContainers(parts);
  const old = besideTheBeat((isStopping) =>
    goOnErasing(parts, isStopping)
      .then(() => retain(parts, isStopping))
      .catch((error: unknown) =>
        parts.log.warn(
          { component: 'retention', event: 'retention_failed', error: String(error) },
          'an erasure or retention failed; it is tried again',
        ),
      ),
  );

  const once = async (): Promise<void> => {
    const ids = parts.running.runIds;
    const told = await beat(world.knex, { ...world.worker, running: ids.length });
    if (told === null) {
      stopped = true;
      return superseded(new HoldfastError('worker_superseded', `A newer process runs as worker ${world.worker.id}.`));
    }
    if (told.stopAsked !== null) stopAsked(told.stopAsked);
    await clock.look(world.knex);
    watchTimeOfDay();
    await watchTheDead();
    if (ids.length > 0) for (const id of await cancelledAmong(world.knex, ids)) parts.running.cancel(id);
    for (const due of await dueTimers(world.knex, new Date(world.now()), TIMERS_AT_ONCE)) {
      // One that fails is tried again at the next beat, and holds up no other.
      await expire(parts, due.run_id, due.target).catch((error: unknown) =>
        parts.log.warn(
          { component: 'worker', event: 'interruption_not_expired', runId: due.run_id, error: String(error) },
          'an interruption could not be expired',
        ),
      );
    }
    await tellStalls(parts);
    attempts.begin();
    anchoring.begin();
    containers.begin();
    system.begin();
    if (++beats % FORGET_EVERY_BEATS === 1) await forgetOldWorkers(world.knex);
    if (beats % SWEEP_EVERY_BEATS !== 0) return;
    await keySegments(world.knex, SEGMENT_QUEUE);
    await forgetStarts(world.knex);
    await sweep(parts);
    await rebuildLeft(parts);
    await watchStrays();
    await parts.exports.watch(world, parts.log);
    trajectories.begin();
    await dropExpiredEvents(world.knex, new Date(world.now()), EVENTS_AT_ONCE);
    old.begin();
  };

  const schedule = (): void => {
    if (stopped) return;
    timer = setTimeout(() => {
      current = once()
        .catch((error: unknown) =>
          parts.log.warn(
            { component: 'worker', event: 'beat_failed', error: String(error) },
            'the beat of the worker failed; it is tried again',
          ),
        )
        .then(schedule);
    }, BEAT_MS).unref();
  };
  schedule();
  return async () => {
    stopped = true;
    clearTimeout(timer);
    const beside = [anchoring, attempts, containers, old, trajectories, system];
    await Promise.all([current, ...beside.map((one) => one.stop())]);
  };
}
