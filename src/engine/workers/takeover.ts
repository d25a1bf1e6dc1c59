import { HEARTBEAT_OLD_MS } from '../../core/queue/worker.js';
import { SEGMENT_WORKFLOW } from '../../core/runs/run.js';
import type { SessionLock } from '../../storage/database/database.js';
import {
  endSessions,
  fence,
  type Holder,
  holdersOfSegments,
  isGone,
  type LeftSegment,
  takeSegments,
} from '../../storage/dbos/takeover.js';
import { markDead } from '../../storage/queue/workers.js';
import { elapsedMs } from '../concurrency/repeated-work.js';
import type { EngineContext } from '../engine-context.js';
import { rebuildLeft } from './rebuild-left.js';
import { endStranded } from './sweep.js';
import { lockName } from './worker.js';

/** Who has looked away for longer knows nothing of the heartbeats in between. */
const BLIND_AFTER_MS = 2500;

/**
 * Looks, whenever it is called, for segments whose worker is dead, and takes them over. A worker is dead when its lock is free
 * and its heartbeat has not changed for three seconds before our own eyes: after the database was away, all heartbeats are old
 * and all locks are free for a moment, and no one is dead. The session of one that holds its lock and hangs for longer than the
 * bound is ended: it is fenced then, and ends when it wakes.
 */
export function detectDeadWorkers(context: EngineContext): () => Promise<void> {
  const { knex, worker } = context.stepContext;
  const seen = new Map<string, { readonly heartbeat: string; since: number; beforeMs: number }>();
  let lookedAt = 0;

  /** For how long a heartbeat has not changed before our eyes: since we looked away, and in all. */
  const silentMs = ({ id, heartbeat }: Holder, now: number): { readonly lastly: number; readonly inAll: number } => {
    if (heartbeat === null) return { lastly: HEARTBEAT_OLD_MS, inAll: HEARTBEAT_OLD_MS };
    const known = seen.get(id);
    if (known?.heartbeat === heartbeat) return { lastly: now - known.since, inAll: known.beforeMs + now - known.since };
    seen.set(id, { heartbeat, since: now, beforeMs: 0 });
    return { lastly: 0, inAll: 0 };
  };
  /** What was seen before counts no more for whether a worker lives, and still for how long one has been silent. */
  const lookAgain = (now: number): void => {
    for (const one of seen.values()) {
      one.beforeMs += Math.max(0, lookedAt - one.since);
      one.since = now;
    }
  };

  return async () => {
    const holders = await holdersOfSegments(knex, SEGMENT_WORKFLOW, worker.id);
    const now = elapsedMs();
    if (now - lookedAt > BLIND_AFTER_MS) lookAgain(now);
    lookedAt = now;
    for (const id of seen.keys()) if (!holders.some((one) => one.id === id)) seen.delete(id);
    for (const holder of holders) {
      const { lastly, inAll } = silentMs(holder, now);
      if (lastly >= HEARTBEAT_OLD_MS) await takeOver(context, holder.id, inAll >= context.stillAfterMs);
    }
  };
}

/** Takes a dead worker's segments; does nothing when it has moved, or its lock is held by one that works. */
async function takeOver(context: EngineContext, id: string, standsStill: boolean): Promise<void> {
  const { stepContext } = context;
  const lock = await takeLock(context, id, standsStill);
  if (lock === null) return;
  try {
    const takeover = { worker: id, workflow: SEGMENT_WORKFLOW, crashLimit: context.crashLimit };
    if (!(await isGone(stepContext.knex, id))) return;
    await endSessions(stepContext.knex, id);
    const left = await stepContext.knex.transaction(async (trx) => {
      await fence(trx, id);
      const taken = await takeSegments(trx, takeover);
      await markDead(trx, id);
      return taken;
    });
    await settleLeft(context, id, left);
    await rebuildLeft(context);
  } finally {
    await lock.release();
  }
}

async function takeLock(
  { database, log }: EngineContext,
  id: string,
  standsStill: boolean,
): Promise<SessionLock | null> {
  const lock = await database.tryLock(lockName(id));
  if (lock !== null || !standsStill) return lock;
  log.warn(
    { component: 'worker', event: 'worker_still', worker: id },
    'a worker hangs: its session is ended, and its segments go on elsewhere',
  );
  await database.endHolder(lockName(id));
  // Where the session takes its time to end, the next look finds the lock free.
  return database.tryLock(lockName(id));
}

/** What follows from segments that were taken: those that can go on do so, and runs that were given up end by name. */
export async function settleLeft(context: EngineContext, worker: string, left: readonly LeftSegment[]): Promise<void> {
  if (left.length === 0) return;
  context.stepContext.queue.wake();
  context.stepContext.metrics.takenOver(left.length);
  const runs = left.map(({ runId }) => runId);
  context.log.warn(
    { component: 'worker', event: 'segments_taken_over', worker, runs },
    'the segments of a worker that is gone were taken over',
  );
  for (const { runId, segment, givenUp } of left)
    if (givenUp) await endStranded(context, { id: runId, segment, workflow: 'CANCELLED' });
}
