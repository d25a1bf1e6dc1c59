import type { Knex } from 'knex';
import type { EnvironmentIdentity, EnvironmentName, EnvironmentPurpose } from '../../core/containers/environment.js';
import { type EnvironmentSpec, environmentSpec } from '../../core/containers/environment-spec.js';
import { canonical } from '../../core/json.js';
import { OVER } from '../../core/runs/run.js';
import type { SeenEnvironment } from '../../core/trajectories/trajectory-step.js';
import { readJson } from '../database/stored-json.js';

/**
 * `new`: nothing of it need exist. `up`: its container may run. `stopping`: someone stops it, for as long as their lease. `down`: it
 * was stopped and has its files. `removing`: as `stopping`, and for good. `gone`: nothing of it is left.
 */
export type EnvironmentState = 'new' | 'up' | 'stopping' | 'down' | 'removing' | 'gone';

export interface EnvironmentRow {
  readonly run_id: string;
  readonly purpose: EnvironmentPurpose;
  readonly attempt: number;
  readonly tenant: string;
  readonly source_run: string | null;
  readonly source_purpose: EnvironmentPurpose | null;
  readonly source_attempt: number | null;
  readonly engine: string;
  readonly key: string;
  readonly spec: string;
  readonly seq: number | null;
  readonly keep_hours: number | null;
  readonly spec_hash: string;
  readonly state: EnvironmentState;
  readonly lease_until: Date | null;
  readonly deadline: Date;
  readonly started_at: Date | null;
}

/** An environment as it is kept. */
export interface KeptEnvironment {
  readonly identity: EnvironmentIdentity;
  readonly engine: string;
  /** Makes the names of its records, which no one in it can know beforehand. */
  readonly key: string;
  readonly state: EnvironmentState;
  /** Whether a start of it was ever asked for. */
  readonly begun: boolean;
}

export const COLUMNS = [
  ...(['run_id', 'purpose', 'attempt', 'tenant', 'engine', 'key', 'spec', 'spec_hash'] as const),
  ...(['source_run', 'source_purpose', 'source_attempt'] as const),
  ...(['state', 'lease_until', 'deadline', 'started_at'] as const),
];

export const rows = (db: Knex) => db<EnvironmentRow>('holdfast.environments');

export const kept = (row: Pick<EnvironmentRow, (typeof COLUMNS)[number]>, instance: string): KeptEnvironment => ({
  identity: {
    ...{ instance, runId: row.run_id, purpose: row.purpose, attempt: row.attempt, specHash: row.spec_hash },
    source: sourceOf(row, instance),
    spec: specOf(row),
    deadline: row.deadline.toISOString(),
  },
  ...{ engine: row.engine, key: row.key, state: row.state, begun: row.started_at !== null },
});

const specOf = ({ run_id: id, spec }: Pick<EnvironmentRow, 'run_id' | 'spec'>): EnvironmentSpec =>
  readJson(environmentSpec, spec, { table: 'environments', row: `of run ${id}`, column: 'spec' });

function sourceOf(
  { source_run, source_purpose, source_attempt }: Pick<EnvironmentRow, `source_${'run' | 'purpose' | 'attempt'}`>,
  instance: string,
): EnvironmentName | null {
  if (source_run === null || source_purpose === null || source_attempt === null) return null;
  return { instance, runId: source_run, purpose: source_purpose, attempt: source_attempt };
}

/** The name of this database among those that share an engine. */
export async function instanceId(db: Knex): Promise<string> {
  const row: { id: string } | undefined = await db('holdfast.instance').first('id');
  if (row === undefined) throw new Error('holdfast.instance has a row since its migration');
  return row.id;
}

/** The newest environment of a run for a purpose; null: it has none. */
export async function findEnvironment(
  db: Knex,
  instance: string,
  { runId, purpose }: Pick<EnvironmentName, 'runId' | 'purpose'>,
): Promise<KeptEnvironment | null> {
  const row = await rows(db)
    .where({ run_id: runId, purpose })
    .orderBy('attempt', 'desc')
    .first(...COLUMNS);
  return row === undefined ? null : kept(row, instance);
}

/** What a trajectory shows of the environment of a run, also when nothing of it is left; null: it has none. */
export const seenEnvironment = async (db: Knex, runId: string): Promise<SeenEnvironment | null> =>
  (await seenEnvironments(db, [runId])).get(runId)?.() ?? null;

/** The same of several runs; those without an environment are not in it. Each is read when it is asked for, and may throw `row_changed`. */
export async function seenEnvironments(
  db: Knex,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, () => SeenEnvironment>> {
  const newestLast = await rows(db)
    .where({ purpose: 'run' })
    .whereRaw('run_id = any(?)', [[...runIds]])
    .orderBy('attempt')
    .select('run_id', 'spec');
  const newest = new Map(newestLast.map((row) => [row.run_id, row]));
  return new Map([...newest].map(([runId, row]) => [runId, () => seenOf(row)]));
}

function seenOf(row: Pick<EnvironmentRow, 'run_id' | 'spec'>): SeenEnvironment {
  const { workdir, env } = specOf(row);
  return { workdir, names: Object.keys(env).sort() };
}

/** Keeps an environment before anything of it exists. The first one stands. */
export async function saveEnvironment(
  db: Knex,
  { identity, engine, key }: Pick<KeptEnvironment, 'identity' | 'engine' | 'key'>,
  tenant: string,
): Promise<void> {
  const { runId, purpose, attempt, source, spec, specHash, deadline } = identity;
  await db('holdfast.environments')
    .insert({
      ...{ run_id: runId, purpose, attempt, tenant, engine, key },
      ...(source !== null && {
        ...{ source_run: source.runId, source_purpose: source.purpose, source_attempt: source.attempt },
      }),
      ...{ spec: canonical(spec), spec_hash: specHash, deadline: new Date(deadline) },
    })
    .onConflict(['run_id', 'purpose', 'attempt'])
    .ignore();
}

export type Name = Omit<EnvironmentName, 'instance'>;
const named = (db: Knex, { runId, purpose, attempt }: Name) => rows(db).where({ run_id: runId, purpose, attempt });
const ends = (db: Knex, forMs: number) => db.raw("now() + ? * interval '1 millisecond'", [forMs]);

/**
 * Says that commands will run in it. False: someone stops it at this moment, or it has gone. Who was to stop it and did not in their
 * time does not any more.
 */
export async function useEnvironment(db: Knex, name: Name): Promise<boolean> {
  const taken = await named(db, name)
    .where((one) =>
      one.whereIn('state', ['new', 'up', 'down']).orWhere((late) => {
        late.where({ state: 'stopping' }).where('lease_until', '<', db.fn.now());
      }),
    )
    .update({ state: 'up', lease_until: null, updated_at: db.fn.now() } as never);
  return taken > 0;
}

/** Says that its container, which was made, is about to be started for the first time. False: it was removed meanwhile, or is. */
export async function markStarted(db: Knex, name: Name): Promise<boolean> {
  const started = await named(db, name)
    .whereNotIn('state', ['removing', 'gone'])
    .update({ started_at: db.raw('coalesce(started_at, now())') } as never);
  return started > 0;
}

/**
 * The first event of what had worked in a run's container: its preparation, or the end of a call after its start; infinite: there is none. Null: it never was started.
 */
export async function workedFrom(db: Knex, runId: string): Promise<number | null> {
  const row = await rows(db)
    .where({ run_id: runId, purpose: 'run' })
    .whereNotNull('started_at')
    .orderBy('attempt')
    .first('started_at');
  if (row?.started_at == null) return null;
  const since = row.started_at.getTime();
  const ends: readonly { seq: number; at: string }[] = await db('holdfast.all_events')
    .where({ run_id: runId })
    .whereIn('kind', ['environment.prepared', 'call.finished', 'call.unknown'])
    .orderBy('seq')
    .select('seq', 'at');
  return ends.find(({ at }) => Date.parse(at) >= since)?.seq ?? Number.POSITIVE_INFINITY;
}

/** Takes it upon itself to stop it, as long as its run is paused; false: someone else does, or it is in use again. */
export async function beginStop(db: Knex, name: Name, forMs: number): Promise<boolean> {
  const taken = await named(db, name)
    .where((one) => one.where({ state: 'up' }).orWhere((late) => isLate(late.where({ state: 'stopping' }), db)))
    .whereExists((run) => run.from('holdfast.runs').where({ id: name.runId, status: 'paused' }))
    .update({ state: 'stopping', lease_until: ends(db, forMs), updated_at: db.fn.now() } as never);
  return taken > 0;
}

/** Takes it upon itself to remove it, since its run is over; false: someone else does, or has. */
export async function beginRemove(db: Knex, name: Name, forMs: number): Promise<boolean> {
  const taken = await named(db, name)
    .whereNot('state', 'gone')
    // Also one that is being made.
    .where((one) => one.whereNull('lease_until').orWhere((late) => isLate(late, db)))
    .whereExists((run) =>
      run
        .from('holdfast.runs')
        .where({ id: name.runId })
        .whereIn('status', [...OVER]),
    )
    .update({ state: 'removing', lease_until: ends(db, forMs), updated_at: db.fn.now() } as never);
  return taken > 0;
}

const isLate = (query: Knex.QueryBuilder, db: Knex) => query.where('lease_until', '<', db.fn.now());

/** Says how it came out, unless someone else has taken it over. */
export async function endChange(db: Knex, name: Name, from: 'stopping' | 'removing'): Promise<void> {
  await named(db, name)
    .where({ state: from })
    .update({ state: from === 'stopping' ? 'down' : 'gone', lease_until: null, updated_at: db.fn.now() } as never);
}

/** Gives up what was begun and not done: someone may do it when what is under way on the engine has come to its end. */
export async function abandonChange(
  db: Knex,
  name: Name,
  from: 'stopping' | 'removing',
  afterMs: number,
): Promise<void> {
  await named(db, name)
    .where({ state: from })
    .update({ lease_until: ends(db, afterMs), updated_at: db.fn.now() } as never);
}

/** `kept`: what its row says; or, in `trouble`, why that cannot be read. By its name it is stopped and removed all the same. */
export type DueEnvironment = { readonly identity: EnvironmentName; readonly due: 'stop' | 'remove' } & (
  | { readonly kept: KeptEnvironment; readonly trouble: null }
  | { readonly kept: null; readonly trouble: unknown }
);

/** Environments of an engine whose run is paused or over while something of them is still there. */
export async function dueEnvironments(
  db: Knex,
  instance: string,
  engine: string,
  limit: number,
): Promise<readonly DueEnvironment[]> {
  const found: (EnvironmentRow & { readonly status: string })[] = await db('holdfast.environments as e')
    .join('holdfast.runs as r', 'r.id', 'e.run_id')
    .where('e.engine', engine)
    .whereNot('e.state', 'gone')
    .where((one) => one.whereNot('e.purpose', 'snapshot').orWhere((late) => isUnneeded(late)))
    .where((one) =>
      one.whereIn('r.status', [...OVER]).orWhere((paused) => {
        paused.where('r.status', 'paused').whereIn('e.state', ['up', 'stopping']);
      }),
    )
    .where((one) => one.whereNull('e.lease_until').orWhere('e.lease_until', '<', db.fn.now()))
    .orderBy('e.updated_at')
    .limit(limit)
    .select(...COLUMNS.map((column) => `e.${column}`), 'r.status');
  return found.map((row) => {
    const { run_id: runId, purpose, attempt } = row;
    const of = {
      identity: { instance, runId, purpose, attempt },
      due: row.status === 'paused' ? 'stop' : 'remove',
    } as const;
    try {
      return { ...of, kept: kept(row, instance), trouble: null };
    } catch (trouble) {
      return { ...of, kept: null, trouble };
    }
  });
}

/** Whether an environment `e` is what another one is to begin with, and has not. */
export const HAS_HEIRS = `exists (select 1 from holdfast.environments h
  where h.source_run = e.run_id and h.source_purpose = e.purpose and h.source_attempt = e.attempt
    and h.started_at is null and h.state not in ('removing', 'gone'))`;

/** Whether a task stands on the run of an environment `e` whose next attempt is to follow. */
const IS_RETRIED = `exists (select 1 from holdfast.tasks t where t.run_id = e.run_id and t.retry_at is not null)`;

/** A snapshot that no fork is to begin with any more. */
const isUnneeded = (query: Knex.QueryBuilder) =>
  query
    .where((over) =>
      over
        .whereNotNull('r.erased_at')
        .orWhereRaw(`r.completed_at + e.keep_hours * interval '1 hour' < now() and not ${IS_RETRIED}`),
    )
    .whereRaw(`not ${HAS_HEIRS}`);

/** What no one has any more of what an engine has: `kept` has a row, `gone` had one or was of a run that was removed, of `unknown` nothing is known. */
export async function standingOf<T extends Name>(
  db: Knex,
  names: readonly T[],
): Promise<Readonly<Record<'kept' | 'gone' | 'unknown', readonly T[]>>> {
  const runIds = [...new Set(names.map(({ runId }) => runId))];
  const found = await rows(db).whereRaw('run_id = any(?)', [runIds]).select('run_id', 'purpose', 'attempt', 'state');
  const states = new Map(found.map((row) => [`${row.run_id}/${row.purpose}/${row.attempt}`, row.state]));
  const removed: string[] = await db('holdfast.removed_runs').whereRaw('run_id = any(?)', [runIds]).pluck('run_id');
  const gone = new Set(removed);
  const standing = { kept: [] as T[], gone: [] as T[], unknown: [] as T[] };
  for (const name of names) {
    const state = states.get(`${name.runId}/${name.purpose}/${name.attempt}`);
    if (state !== undefined && state !== 'gone') standing.kept.push(name);
    else standing[state === 'gone' || gone.has(name.runId) ? 'gone' : 'unknown'].push(name);
  }
  return standing;
}
