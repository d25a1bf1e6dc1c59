import { SEGMENT_WORKFLOW } from '../../workflows/agent-run.js';
import { HEARTBEAT_OLD_MS } from '../core/worker.js';
import {
  endSessions,
  fence,
  type Holder,
  holdersOfSegments,
  isGone,
  type LeftSegment,
  takeSegments,
} from '../storage/takeover.js';
import { markDead } from '../storage/workers.js';
import type { Parts } from './parts.js';
import { rebuildLeft } from './rebuild-left.js';
import { endStranded } from './sweep.js';
import { lockName } from './worker.js';

/** Who has looked away for longer knows nothing of the heartbeats in between. */
const BLIND_AFTER_MS = 2500;

/**
 * Looks, whenever it is called, for segments whose worker is dead, and takes them over. A worker is dead when its lock is free
 * and its heartbeat has stood still for three seconds before our own eyes: after the database was away, all heartbeats are old
 * and all locks are free for a moment, and nobody is dead.
 */
export function deathWatch(parts: Parts): () => Promise<void> {
  const { knex, worker } = parts.world;
  const seen = new Map<string, { readonly heartbeat: string; readonly since: number }>();
  let lookedAt = 0;

  const isSilent = ({ id, heartbeat }: Holder, now: number): boolean => {
    if (heartbeat === null) return true;
    const known = seen.get(id);
    if (known?.heartbeat === heartbeat) return now - known.since >= HEARTBEAT_OLD_MS;
    seen.set(id, { heartbeat, since: now });
    return false;
  };

  return async () => {
    const holders = await holdersOfSegments(knex, SEGMENT_WORKFLOW, worker.id);
    const now = performance.now();
    if (now - lookedAt > BLIND_AFTER_MS) seen.clear();
    lookedAt = now;
    for (const id of seen.keys()) if (!holders.some((one) => one.id === id)) seen.delete(id);
    for (const holder of holders) if (isSilent(holder, now)) await takeOver(parts, holder.id);
  };
}

/** Takes a dead worker's segments; does nothing when its lock is held or it has moved. */
async function takeOver(parts: Parts, id: string): Promise<void> {
  const { database, world } = parts;
  const lock = await database.tryLock(lockName(id));
  if (lock === null) return;
  try {
    const takeover = { worker: id, workflow: SEGMENT_WORKFLOW, crashLimit: parts.crashLimit };
    if (!(await isGone(world.knex, id))) return;
    await endSessions(world.knex, id);
    const left = await world.knex.transaction(async (trx) => {
      await fence(trx, id);
      const taken = await takeSegments(trx, takeover);
      await markDead(trx, id);
      return taken;
    });
    await settleLeft(parts, id, left);
    await rebuildLeft(parts);
  } finally {
    await lock.release();
  }
}

/** What follows from segments that were taken: those that can go on do so, and runs that were given up end by name. */
export async function settleLeft(parts: Parts, worker: string, left: readonly LeftSegment[]): Promise<void> {
  if (left.length === 0) return;
  parts.world.queue.wake();
  parts.world.metrics.takenOver(left.length);
  const runs = left.map(({ runId }) => runId);
  parts.log.warn(
    { component: 'worker', event: 'segments_taken_over', worker, runs },
    'the segments of a worker that is gone were taken over',
  );
  for (const { runId, segment, givenUp } of left)
    if (givenUp) await endStranded(parts, { id: runId, segment, workflow: 'CANCELLED' });
}
