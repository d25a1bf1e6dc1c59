import { HoldfastError } from '../../core/errors/errors.js';
import type { StopMode } from '../../core/queue/worker.js';
import { dropExpiredEvents } from '../../storage/interruptions/emitted-events.js';
import { forgetStarts, keySegments } from '../../storage/queue/dispatch-limits.js';
import { forgetOldNotes } from '../../storage/queue/work-notes.js';
import { beat, forgetOldWorkers } from '../../storage/queue/workers.js';
import { cancelledAmong } from '../../storage/runs/runs.js';
import { elapsedMs, leftOut, repeating } from '../concurrency/repeating.js';
import { settleContainers } from '../containers/settle-containers.js';
import type { EngineContext } from '../engine-context.js';
import { signLog } from '../evidence/log-verbs.js';
import type { DatabaseClock } from '../ops/database-clock.js';
import { SEGMENT_QUEUE } from '../queue/segment-queue.js';
import { goOnErasing } from '../retention/erase-subject.js';
import { compactErased, retain } from '../retention/retention.js';
import { tellSystem } from '../streaming/tell-system.js';
import { retryTasks } from '../tasks/retry-tasks.js';
import { indexDue } from '../trajectories/index-trajectories.js';
import { rebuildLeft } from './rebuild-left.js';
import { setBackWatch } from './set-back-watch.js';
import { dueWatch } from './settle-due.js';
import { strayWatch, sweep } from './sweep.js';
import { deathWatch } from './takeover.js';
import { tellStalls } from './tell-stalls.js';
import type { WorkerLease } from './worker-lease.js';

const BEAT_MS = 1000;
const SWEEP_EVERY_MS = 5 * BEAT_MS;
const FORGET_EVERY_MS = 60 * BEAT_MS;
const EVENTS_AT_ONCE = 1000;

export interface BeatEnds {
  /** A newer process has the worker id. */
  readonly superseded: (error: HoldfastError) => void;
  readonly stopAsked: (mode: StopMode) => void;
}

/**
 * What a worker does again and again: it says that it lives, settles what is due, takes over what the dead have left, and looks for
 * runs of its own that were cancelled elsewhere. Each of these repeats by itself, so that none waits for another one; the heartbeat
 * has a connection of its own, too. Returns a function that stops all of it.
 */
export function startBeating(
  context: EngineContext,
  { clock, lease }: { readonly clock: DatabaseClock; readonly lease: WorkerLease },
  { superseded, stopAsked }: BeatEnds,
): () => Promise<void> {
  const { stepContext, log } = context;
  const own = context.database.ownConnection();
  const every = (what: string, work: (isStopping: () => boolean) => Promise<void>, everyMs = BEAT_MS) =>
    repeating({ what, everyMs, log }, work);
  const watchTimeOfDay = setBackWatch(context);
  const containers = settleContainers(context);
  let isSuperseded = false;

  const heartbeat = async (): Promise<void> => {
    if (isSuperseded) return;
    const askedAt = elapsedMs();
    const told = await beat(own, { ...stepContext.worker, running: context.running.runIds.length });
    if (told === null) {
      isSuperseded = true;
      return superseded(
        new HoldfastError('worker_superseded', `A newer process runs as worker ${stepContext.worker.id}.`),
      );
    }
    lease.renew(askedAt);
    if (told.stopAsked !== null) stopAsked(told.stopAsked);
  };
  const cancels = async (): Promise<void> => {
    const ids = context.running.runIds;
    if (ids.length > 0) for (const id of await cancelledAmong(stepContext.knex, ids)) context.running.cancel(id);
  };
  const old = async (isStopping: () => boolean): Promise<void> => {
    try {
      await goOnErasing(context, isStopping);
      await retain(context, isStopping);
      await compactErased(context, isStopping);
    } catch (error) {
      log.warn(
        { component: 'retention', event: 'retention_failed', error: String(error) },
        'an erasure or retention failed; it is tried again',
      );
    }
  };
  const stops = [
    every('heartbeat', heartbeat),
    every('clock', async () => {
      await clock.look(stepContext.knex);
      watchTimeOfDay();
    }),
    every('takeover', deathWatch(context)),
    every('cancellations', cancels),
    every('deadlines', dueWatch(context)),
    every('stalls', () => tellStalls(context)),
    every('attempts', (isStopping) => retryTasks(context, isStopping)),
    every('anchor', async () => {
      if (context.anchor.isDue) await signDue(context);
    }),
    every('containers', async () => containers.begin()),
    every('system', () => tellSystem(context)),
    every('limits', () => keepLimitsUp(context), SWEEP_EVERY_MS),
    every('stranded', (isStopping) => sweep(context, isStopping), SWEEP_EVERY_MS),
    every('rebuild', () => rebuildLeft(context), SWEEP_EVERY_MS),
    every('strays', strayWatch(context), SWEEP_EVERY_MS),
    every('exports', () => context.exports.watch(stepContext, log), SWEEP_EVERY_MS),
    every('events', (isStopping) => dropEvents(context, isStopping), SWEEP_EVERY_MS),
    every('trajectories', (isStopping) => indexDue(context, isStopping), SWEEP_EVERY_MS),
    every('retention', old, SWEEP_EVERY_MS),
    every('forget', () => forgetOld(context), FORGET_EVERY_MS),
  ];
  return async () => {
    await Promise.all([...stops.map((stop) => stop()), containers.stop()]);
    await own.close();
  };
}

const signDue = (context: EngineContext): Promise<unknown> =>
  leftOut(context, 'sign', () => signLog(context, (apart) => context.anchor.beat(apart)));

async function forgetOld({ stepContext: { knex } }: EngineContext): Promise<void> {
  await forgetOldWorkers(knex);
  await forgetOldNotes(knex);
}

async function keepLimitsUp({ stepContext: { knex } }: EngineContext): Promise<void> {
  await keySegments(knex, SEGMENT_QUEUE);
  await forgetStarts(knex);
}

async function dropEvents({ stepContext }: EngineContext, isStopping: () => boolean): Promise<void> {
  let dropped = EVENTS_AT_ONCE;
  while (dropped === EVENTS_AT_ONCE && !isStopping())
    dropped = await dropExpiredEvents(stepContext.knex, new Date(stepContext.now()), EVENTS_AT_ONCE);
}
