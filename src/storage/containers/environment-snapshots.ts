import type { Knex } from 'knex';
import type { EnvironmentName } from '../../core/containers/environment.js';
import { canonical } from '../../core/json.js';
import { COLUMNS, HAS_HEIRS, type KeptEnvironment, kept, type Name, rows } from './environments.js';

/** The files of a run as they were when an event was the last one of its log. */
export interface KeptSnapshot extends KeptEnvironment {
  readonly seq: number;
}

/**
 * With how many hours it is kept after the end of its run, until when the one that knows nothing of it leaves it alone, and for how long no one
 * removes it since it is being made.
 */
export interface SnapshotTerms {
  readonly keepHours: number;
  readonly deadline: string;
  readonly leaseMs: number;
}

/** The event that a run was paused by last, or the last one of all. */
export async function restingSeq(db: Knex, runId: string, at: 'pause' | 'end'): Promise<number | null> {
  const row: { seq: number } | undefined = await db('holdfast.events')
    .where({ run_id: runId, ...(at === 'pause' && { kind: 'run.paused' }) })
    .orderBy('seq', 'desc')
    .first('seq');
  return row?.seq ?? null;
}

/**
 * Keeps a snapshot of this moment before anything of it exists; the first one stands. It has the key of its source, whose records it has. Null:
 * the run is erased, or someone removes it. An erasure holds the row of the run: it finds what is kept, or nothing is kept after it.
 */
export function saveSnapshot(
  db: Knex,
  { identity, engine, key }: KeptEnvironment,
  seq: number,
  { keepHours, deadline, leaseMs }: SnapshotTerms,
): Promise<KeptSnapshot | null> {
  const { instance, runId, purpose, attempt, spec, specHash } = identity;
  return db.transaction(async (trx) => {
    const run = await trx('holdfast.runs').where({ id: runId }).whereNull('erased_at').forShare().first('id');
    if (run === undefined) return null;
    const lease_until = trx.raw("now() + ? * interval '1 millisecond'", [leaseMs]) as unknown as Date;
    const of = { run_id: runId, purpose: 'snapshot' as const };
    const isMade = await rows(trx).where(of).where({ seq, state: 'new' }).update({ lease_until });
    const before = await snapshotOf(trx, instance, runId, seq);
    if (isMade > 0 || before !== null) return before;
    const last = await rows(trx).where(of).orderBy('attempt', 'desc').first('attempt');
    const source = await rows(trx).where({ run_id: runId, purpose, attempt }).first('tenant');
    await rows(trx)
      .insert({
        ...{ ...of, attempt: (last?.attempt ?? 0) + 1, tenant: source?.tenant ?? '', engine, key, seq },
        ...{ source_run: runId, source_purpose: purpose, source_attempt: attempt, keep_hours: keepHours, lease_until },
        ...{ spec: canonical(spec), spec_hash: specHash, deadline: new Date(deadline) },
      })
      .onConflict(['run_id', 'purpose', 'attempt'])
      .ignore();
    return snapshotOf(trx, instance, runId, seq);
  });
}

async function snapshotOf(db: Knex, instance: string, runId: string, seq: number): Promise<KeptSnapshot | null> {
  const row = await rows(db)
    .where({ run_id: runId, purpose: 'snapshot', seq })
    .whereIn('state', ['new', 'down'])
    .first(...COLUMNS);
  return row === undefined ? null : { ...kept(row, instance), seq };
}

/** Says that all of its files are there. False: it was removed while they were made. */
export async function markWhole(db: Knex, name: Name): Promise<boolean> {
  const { runId, purpose, attempt } = name;
  const marked = await rows(db)
    .where({ run_id: runId, purpose, attempt, state: 'new' })
    .update({ state: 'down', lease_until: null, updated_at: db.fn.now() } as never);
  return marked > 0 || (await isWanted(db, name));
}

/** Whether no one has removed it, or does. */
export async function isWanted(db: Knex, { runId, purpose, attempt }: Name): Promise<boolean> {
  const row = await rows(db)
    .where({ run_id: runId, purpose, attempt })
    .whereIn('state', ['new', 'down'])
    .first('state');
  return row !== undefined;
}

/** Those of a run that are whole, the newest first. */
export async function wholeSnapshots(db: Knex, instance: string, runId: string): Promise<readonly KeptSnapshot[]> {
  const found = await rows(db)
    .where({ run_id: runId, purpose: 'snapshot', state: 'down' })
    .whereNotNull('seq')
    .orderBy('seq', 'desc')
    .select(...COLUMNS, 'seq');
  return found.map((row) => ({ ...kept(row, instance), seq: row.seq ?? 0 }));
}

/** Holds a snapshot until the transaction ends, in which an environment that begins with it is kept; null: it is not whole, or goes. */
export async function holdSnapshot(
  trx: Knex.Transaction,
  { instance, runId, purpose, attempt }: EnvironmentName,
): Promise<KeptEnvironment | null> {
  const [row] = await rows(trx)
    .where({ run_id: runId, purpose, attempt, state: 'down' })
    .update({ updated_at: trx.fn.now() } as never)
    .returning([...COLUMNS]);
  return row === undefined ? null : kept(row, instance);
}

/** Those of a run beyond the newest ones, which no one is to begin with. */
export async function spareSnapshots(
  db: Knex,
  instance: string,
  runId: string,
  most: number,
): Promise<readonly EnvironmentName[]> {
  const found = await db('holdfast.environments as e')
    .where({ 'e.run_id': runId, 'e.purpose': 'snapshot' })
    .whereIn('e.state', ['new', 'down'])
    .orderBy('e.attempt', 'desc')
    .offset(most)
    .select<{ attempt: number }[]>('e.attempt');
  return found.map(({ attempt }) => ({ instance, runId, purpose: 'snapshot', attempt }));
}

/** Takes it upon itself to remove a snapshot; false: it goes already. */
export async function beginDrop(db: Knex, { runId, purpose, attempt }: Name, forMs: number): Promise<boolean> {
  const taken = await rows(db)
    .where({ run_id: runId, purpose, attempt })
    .whereIn('state', ['new', 'down'])
    .update({
      ...{ state: 'removing', updated_at: db.fn.now() },
      lease_until: db.raw("now() + ? * interval '1 millisecond'", [forMs]),
    } as never);
  return taken > 0;
}

/**
 * Gives a snapshot back that someone is to begin with: asked after it was said to be going, when no one can take it any more. True: it
 * stays.
 */
export async function stayForHeirs(db: Knex, { runId, purpose, attempt }: Name): Promise<boolean> {
  const stays = await db('holdfast.environments as e')
    .where({ 'e.run_id': runId, 'e.purpose': purpose, 'e.attempt': attempt, 'e.state': 'removing' })
    .whereRaw(HAS_HEIRS)
    .update({ state: 'down', lease_until: null });
  return stays > 0;
}
