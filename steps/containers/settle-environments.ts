import { HoldfastError } from '../../src/core/errors/errors.js';
import {
  beginDrop,
  isWanted,
  markWhole,
  restingSeq,
  saveSnapshot,
  spareSnapshots,
  stayForHeirs,
} from '../../src/storage/containers/environment-snapshots.js';
import {
  abandonChange,
  beginRemove,
  beginStop,
  type DueEnvironment,
  dueEnvironments,
  endChange,
  instanceId,
  type KeptEnvironment,
  standingOf,
} from '../../src/storage/containers/environments.js';
import { withDatabaseRetry } from '../database-retry.js';
import { type EnvironmentContext, ORPHAN_AFTER_MS } from './open-environment.js';

/** Longer than an engine takes to stop, remove or snapshot a container. A holder that exceeds it is presumed dead. */
const LEASE_MS = 90_000;
/** Longer than an engine goes on with what it was asked for by someone who is no longer there. */
const LEFT_MS = 15_000;
const AT_ONCE = 20;
/** Beyond its deadline, so that clocks may differ. */
const GRACE_MS = 10 * 60_000;

/**
 * Stops the containers of runs that are paused, and removes those of runs that are over. The database says which: whatever a worker that
 * died has left comes up here. Returns how many were settled.
 */
export async function settleEnvironments(ctx: EnvironmentContext, signal: AbortSignal): Promise<number> {
  const engine = ctx.environments;
  if (engine === null) return 0;
  const { knex } = ctx;
  const instance = await instanceId(knex);
  const due = await dueEnvironments(knex, instance, await engine.id(signal), AT_ONCE);
  const settled = await Promise.allSettled(due.map((one) => settle(ctx, one, signal)));
  // One that fails holds up no other, and is tried again.
  const failed = settled.find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return settled.filter((one) => one.status === 'fulfilled' && one.value).length;
}

async function settle(ctx: EnvironmentContext, one: DueEnvironment, signal: AbortSignal): Promise<boolean> {
  const { environments: engine, knex } = ctx;
  const { identity, due } = one;
  if (engine === null) return false;
  const within = AbortSignal.any([signal, AbortSignal.timeout(LEASE_MS / 2)]);
  if (due === 'stop') {
    if (!(await beginStop(knex, identity, LEASE_MS))) return false;
    return change(ctx, one, 'stopping', async () => {
      await engine.stop(identity, within);
      return snapshotTrouble(ctx, one, 'pause', within);
    });
  }
  if (!(await beginRemove(knex, identity, LEASE_MS))) return false;
  if (identity.purpose === 'snapshot' && (await stayForHeirs(knex, identity))) return false;
  return change(ctx, one, 'removing', async () => {
    const trouble = await snapshotTrouble(ctx, one, 'end', within);
    await engine.remove(identity, within);
    return trouble;
  });
}

/** Who stops working in the middle, or has an engine that fails, keeps no one waiting for the whole of the lease. */
async function change(
  { knex }: EnvironmentContext,
  { identity }: DueEnvironment,
  to: 'stopping' | 'removing',
  work: () => Promise<unknown>,
): Promise<true> {
  let trouble: unknown;
  try {
    trouble = await work();
  } catch (error) {
    await abandonChange(knex, identity, to, LEFT_MS).catch(() => undefined);
    throw error;
  }
  await withDatabaseRetry(() => endChange(knex, identity, to));
  if (trouble !== null) throw trouble;
  return true;
}

/** What cannot be kept, because a disk is full, it takes too long or its row cannot be read, is told, and holds up nothing: the run may go on, the container goes. */
async function snapshotTrouble(
  ctx: EnvironmentContext,
  one: DueEnvironment,
  at: 'pause' | 'end',
  within: AbortSignal,
): Promise<unknown> {
  if (one.kept === null) return one.trouble;
  const inTime = AbortSignal.any([within, AbortSignal.timeout(LEASE_MS / 3)]);
  try {
    await snapshotEnvironment(ctx, one.kept, at, inTime);
    return null;
  } catch (error) {
    within.throwIfAborted();
    if (error instanceof HoldfastError && error.code === 'engine_unreachable') throw error;
    return error;
  }
}

/**
 * Removes what has our label and no one has any more: at once what was gone, or of a run that was removed, and was made all the same by the code that was late;
 * of what has no row, after its deadline, since it may be of a database that is no more. No one else's.
 */
export async function reapOrphans(ctx: EnvironmentContext, signal: AbortSignal): Promise<number> {
  const engine = ctx.environments;
  if (engine === null) return 0;
  const instance = await instanceId(ctx.knex);
  const { gone, unknown } = await standingOf(ctx.knex, await engine.list(instance, signal));
  const late = unknown.filter(({ deadline }) => Date.parse(deadline) + GRACE_MS < ctx.now());
  const orphans = [...gone, ...late];
  const failures: unknown[] = [];
  for (let first = 0; first < orphans.length; first += AT_ONCE) {
    const some = orphans.slice(first, first + AT_ONCE).map((orphan) => engine.remove(orphan, signal));
    // One that fails holds up no other, and is tried again.
    for (const one of await Promise.allSettled(some)) if (one.status === 'rejected') failures.push(one.reason);
  }
  if (failures.length > 0) throw failures[0];
  return orphans.length;
}

/**
 * Keeps the files of a run that rests, if its environment asks for that, and drops its oldest snapshots beyond as many as it asks for. The
 * container is stopped. A snapshot that is done again is the same one.
 */
export async function snapshotEnvironment(
  ctx: EnvironmentContext,
  run: KeptEnvironment,
  at: 'pause' | 'end',
  signal: AbortSignal,
): Promise<void> {
  const { environments: engine, knex } = ctx;
  const { spec, runId, instance, purpose } = run.identity;
  if (engine === null || purpose !== 'run' || !run.begun || spec.snapshots === null) return;
  const { most, keepHours } = spec.snapshots;
  if (at === 'end' && keepHours === 0) return;
  const seq = await withDatabaseRetry(() => restingSeq(knex, runId, at));
  if (seq === null) return;
  const deadline = new Date(ctx.now() + ORPHAN_AFTER_MS).toISOString();
  const snapshot = await withDatabaseRetry(() =>
    saveSnapshot(knex, run, seq, { keepHours, deadline, leaseMs: LEASE_MS }),
  );
  if (snapshot === null) return;
  const { identity } = snapshot;
  const failure = await engine.keep(identity, signal).then(
    () => null,
    (error: unknown) => ({ error }),
  );
  // The one that removed it while it was made, since this took longer than its lease, may have found nothing yet.
  const stays = await withDatabaseRetry(() =>
    failure === null ? markWhole(knex, identity) : isWanted(knex, identity),
  );
  if (!stays) await engine.remove(identity, AbortSignal.timeout(LEASE_MS));
  if (failure !== null) throw failure.error;
  for (const spare of await spareSnapshots(knex, instance, runId, most)) {
    if (!(await beginDrop(knex, spare, LEASE_MS)) || (await stayForHeirs(knex, spare))) continue;
    await engine.remove(spare, signal);
    await endChange(knex, spare, 'removing');
  }
}
