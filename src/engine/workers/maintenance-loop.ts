import { HoldfastError } from '../../core/errors/errors.js';
import type { StopMode } from '../../core/queue/worker.js';
import { takeChore } from '../../storage/database/chores.js';
import { dropExpiredEvents } from '../../storage/interruptions/emitted-events.js';
import { restoreTimers } from '../../storage/interruptions/timers.js';
import { recordQueueDepth } from '../../storage/ops/system-events.js';
import { forgetStarts, keySegments } from '../../storage/queue/dispatch-limits.js';
import { forgetOldNotes } from '../../storage/queue/work-notes.js';
import { forgetOldWorkers, recordHealthChanges, recordHeartbeat } from '../../storage/queue/workers.js';
import { cancelledAmong } from '../../storage/runs/runs.js';
import { recordTaskStalled } from '../../storage/tasks/task-events.js';
import { elapsedMs, leftOut, repeating } from '../concurrency/repeated-work.js';
import { levelOfFailure, workOff } from '../concurrency/work-off.js';
import { settleContainers } from '../containers/settle-containers.js';
import type { EngineContext } from '../engine-context.js';
import { signLog } from '../evidence/log-operations.js';
import { embedDocuments } from '../memory/embed-documents.js';
import type { DatabaseClock } from '../ops/database-clock.js';
import { tellWebhooks } from '../ops/webhooks.js';
import { evaluateAlerts } from '../quality/alerts.js';
import { SEGMENT_QUEUE } from '../queue/segment-queue.js';
import { goOnErasing } from '../retention/erase-subject.js';
import { compactErased, packLogs, retain } from '../retention/retention.js';
import { removeDropped } from '../tasks/artifact-operations.js';
import { retryTasks } from '../tasks/retry-tasks.js';
import { indexDue } from '../trajectories/index-trajectories.js';
import { settleDueDeadlines } from './due-deadlines.js';
import { rebuildLeft } from './rebuild-left.js';
import { endOverdue } from './run-deadlines.js';
import { endStrandedRuns, requeueAbandoned } from './sweep.js';
import { detectDeadWorkers } from './takeover.js';
import type { WorkerLease } from './worker-lease.js';

const BEAT_MS = 1000;
const SWEEP_EVERY_MS = 5 * BEAT_MS;
const FORGET_EVERY_MS = 60 * BEAT_MS;
const RESTORE_EVERY_MS = 10 * BEAT_MS;
const TIMERS_AT_ONCE = 1000;
const EVENTS_AT_ONCE = 1000;

interface MaintenanceHandlers {
  /** A newer process has the worker id. */
  readonly superseded: (error: HoldfastError) => void;
  readonly stopAsked: (mode: StopMode) => void;
}

/**
 * What a worker does again and again: it says that it lives, settles what is due, takes over what the dead have left, and looks for
 * runs of its own that were cancelled elsewhere. Each of these repeats by itself, so that none waits for another one; the heartbeat
 * has a connection of its own, too. Returns a function that stops all of it.
 */
export function startMaintenanceLoop(
  context: EngineContext,
  { clock, lease }: { readonly clock: DatabaseClock; readonly lease: WorkerLease },
  { superseded, stopAsked }: MaintenanceHandlers,
): () => Promise<void> {
  const { stepContext, log } = context;
  const own = context.database.ownConnection();
  const every = (what: string, work: (isStopping: () => boolean) => Promise<void>, everyMs = BEAT_MS) =>
    repeating({ what, everyMs, log }, work);
  const watchTimeOfDay = detectClockRollback(context);
  const containers = settleContainers(context);
  let isSuperseded = false;

  const heartbeat = async (): Promise<void> => {
    if (isSuperseded) return;
    const askedAt = elapsedMs();
    const told = await recordHeartbeat(own, { ...stepContext.worker, running: context.running.runIds.length });
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
      await packLogs(context, isStopping);
      await compactErased(context, isStopping);
    } catch (error) {
      log[levelOfFailure(error)](
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
    every('takeover', detectDeadWorkers(context)),
    every('cancellations', cancels),
    every('deadlines', settleDueDeadlines(context)),
    every(
      'timers',
      () => restoreTimers(stepContext.knex, new Date(stepContext.now()), TIMERS_AT_ONCE),
      RESTORE_EVERY_MS,
    ),
    every('overdue', endOverdue(context)),
    every('stalls', () => reportStalledRuns(context)),
    every('attempts', retryTasks(context)),
    every('anchor', async () => {
      if (context.anchor.isDue) await signDue(context);
    }),
    every('containers', async () => containers.begin()),
    every('system', () => publishSystemEvents(context)),
    every('engine', async () => context.containers.begin(), SWEEP_EVERY_MS),
    every('limits', () => refreshLimits(context), SWEEP_EVERY_MS),
    every('stranded', endStrandedRuns(context), SWEEP_EVERY_MS),
    every('rebuild', () => rebuildLeft(context), SWEEP_EVERY_MS),
    every('strays', requeueAbandoned(context), SWEEP_EVERY_MS),
    every('alerts', (isStopping) => evaluateAlerts(context, isStopping)),
    every('webhooks', (isStopping) => tellWebhooks(context, isStopping)),
    every('embeddings', embedDocuments(context)),
    every('exports', () => context.exports.watch(stepContext, log), SWEEP_EVERY_MS),
    every('events', (isStopping) => dropEvents(context, isStopping), SWEEP_EVERY_MS),
    every('trajectories', (isStopping) => indexDue(context, isStopping), SWEEP_EVERY_MS),
    every('retention', old, SWEEP_EVERY_MS),
    every('artifacts', (isStopping) => removeDropped(context, isStopping), SWEEP_EVERY_MS),
    every('forget', () => forgetOld(context), FORGET_EVERY_MS),
  ];
  return async () => {
    await Promise.all([...stops.map((stop) => stop()), containers.stop()]);
    await own.close();
  };
}

const signDue = (context: EngineContext): Promise<unknown> =>
  leftOut(context, 'sign', () => signLog(context, (apart) => context.anchor.signDue(apart)));

async function forgetOld({ stepContext: { knex } }: EngineContext): Promise<void> {
  await forgetOldWorkers(knex);
  await forgetOldNotes(knex);
}

async function refreshLimits({ stepContext: { knex } }: EngineContext): Promise<void> {
  await keySegments(knex, SEGMENT_QUEUE);
  await forgetStarts(knex);
}

function dropEvents({ stepContext }: EngineContext, isStopping: () => boolean): Promise<void> {
  const { knex, now } = stepContext;
  const batch = async (): Promise<boolean> =>
    (await dropExpiredEvents(knex, new Date(now()), EVENTS_AT_ONCE)) === EVENTS_AT_ONCE;
  return workOff({ batch, isBusy: () => false, isStopping });
}

/** Smaller steps delay nothing by much. */
const STEP_MS = 500;

/**
 * Looks, whenever it is called, whether the time of day of this process was set back, and wakes the dispatcher then: DBOS looks
 * for work by itself at times of day, and would next do so when it is as late again as it was.
 */
function detectClockRollback({ stepContext }: EngineContext): () => void {
  const offsetMs = (): number => Date.now() - performance.now();
  let last = offsetMs();
  return () => {
    const now = offsetMs();
    if (now < last - STEP_MS) stepContext.queue.wake();
    last = now;
  };
}

/**
 * Tells of runs that are at work here and had no step begin or end for long, once for each silence, and ends them where that is
 * configured. What is told is committed before anything is ended.
 */
async function reportStalledRuns(context: EngineContext): Promise<void> {
  const { stepContext, running, stalls, log } = context;
  for (const { runId, silentMs } of running.silent(stalls.afterMs)) {
    const seconds = Math.floor(silentMs / 1000);
    const taskId = await recordTaskStalled(stepContext.knex, runId, { seconds, ended: stalls.end });
    running.told(runId);
    stepContext.metrics.stalled();
    log.warn(
      { component: 'worker', event: 'run_stalled', taskId, runId, seconds, ended: stalls.end },
      'a run made no progress',
    );
    if (stalls.end) running.stall(runId);
  }
}

const CHORE = 'system_events';
const EVERY_MS = 5000;

/**
 * Tells what is true without a transaction that makes it so: that a worker fell silent, and how long the queue is. One process at a
 * time looks, and what changed is kept together with what was told of it. Gives every event its place. Throws nothing.
 */
async function publishSystemEvents({ stepContext: { knex }, system, log }: EngineContext): Promise<void> {
  try {
    if (await takeChore(knex, CHORE, EVERY_MS)) {
      await knex.transaction(async (trx) => {
        await recordHealthChanges(trx);
        await recordQueueDepth(trx, SEGMENT_QUEUE);
      });
    }
    await system.look();
  } catch (error) {
    log[levelOfFailure(error)](
      { component: 'system_events', event: 'not_told', error: String(error) },
      'events of the system could not be told; it is tried again',
    );
  }
}
