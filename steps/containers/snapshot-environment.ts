import {
  beginDrop,
  isWanted,
  keepSnapshot,
  markWhole,
  restingSeq,
  spareSnapshots,
  stayForHeirs,
} from '../../src/storage/containers/environment-snapshots.js';
import { endChange, type KeptEnvironment } from '../../src/storage/containers/environments.js';
import { withDatabaseRetry } from '../database-retry.js';
import { type EnvironmentWorld, ORPHAN_AFTER_MS } from './open-environment.js';

/** As long as whoever makes or removes a container has time for it. */
const LEASE_MS = 90_000;

/**
 * Keeps the files of a run that rests, if its environment asks for that, and drops its oldest snapshots beyond as many as it asks for. The
 * container is stopped. A snapshot that is done again is the same one.
 */
export async function snapshotEnvironment(
  ctx: EnvironmentWorld,
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
    keepSnapshot(knex, run, seq, { keepHours, deadline, leaseMs: LEASE_MS }),
  );
  if (snapshot === null) return;
  const { identity } = snapshot;
  const failure = await engine.keep(identity, signal).then(
    () => null,
    (error: unknown) => ({ error }),
  );
  // Whoever removed it while it was made, since this took longer than its lease, may have found nothing yet.
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
