import type { Knex } from 'knex';
import { type WorkerOffer, workerOffer } from '../../core/containers/worker-offer.js';
import { HEARTBEAT_OLD_MS, type StopMode, type WorkerRole, type WorkerView } from '../../core/queue/worker.js';
import type { OwnConnection } from '../database/database.js';
import { viewOfRow } from '../database/legible-rows.js';
import { readJsonOrNull } from '../database/stored-json.js';
import { appendSystemEvent } from '../ops/system-events.js';
import { type PageRows, rowsOfPage } from '../runs/page-rows.js';
import { deleteNotesOfLeaving, deleteWorkNotes } from './work-notes.js';

/** Rows of workers that were not heard of for so long are removed. */
const FORGOTTEN_AFTER = '7 days';
/** A worker that was not heard of for longer is not counted on. */
export const OLD = `interval '${HEARTBEAT_OLD_MS} milliseconds'`;

export interface NewWorker {
  readonly id: string;
  readonly build: string;
  readonly recordingVersion: number;
  readonly pid: number;
  readonly role: WorkerRole;
  readonly capacity: number;
  readonly session: string | null;
}

/**
 * Locks the row of a worker before its epoch is raised: waits for statements that act for the present epoch, which hold it `for key
 * share`. Heartbeats conflict with neither, so that no number of such statements keeps a heartbeat waiting.
 */
export const lockWorker = async (trx: Knex.Transaction, id: string): Promise<void> =>
  void (await trx('holdfast.workers').where({ id }).forUpdate().first('id'));

/** Registers a process under a worker id and returns its epoch, which is one more than that of its predecessor. */
export async function registerWorker(
  trx: Knex.Transaction,
  { id, recordingVersion, ...rest }: NewWorker,
): Promise<number> {
  await lockWorker(trx, id);
  await deleteNotesOfLeaving(trx, id);
  // A predecessor that did not leave is dead: this process has its lock.
  await markDead(trx, id);
  const worker = { ...rest, recording_version: recordingVersion, told_status: 'working' };
  const fresh = { started_at: trx.fn.now(), heartbeat_at: trx.fn.now(), stopped_at: null };
  const idle = { running: 0, alone_run_id: null, offer: null, stop_asked: null, leaving_at: null };
  const [row]: { epoch: number }[] = await trx('holdfast.workers')
    .insert({ id, epoch: 1, ...worker })
    .onConflict('id')
    .merge({ ...worker, epoch: trx.raw('workers.epoch + 1'), ...fresh, ...idle })
    .returning('epoch');
  const epoch = row?.epoch ?? 1;
  const { role, capacity, build } = rest;
  const data = { role, capacity, epoch, build };
  await appendSystemEvent(trx, { kind: 'worker.registered', tenant: null, workerId: id, data });
  return epoch;
}

/** What a worker has for containers. */
export interface WorkerEngine {
  /** Whether it has an engine that answers. */
  readonly containers: boolean;
  /** Who its engine is; absent: it has not been asked yet. */
  readonly engine?: string;
  readonly offer: WorkerOffer;
}

/** Says whether a worker has a container engine, which one, and what it has for containers. */
export async function markContainers(
  db: Knex,
  { id, epoch }: { readonly id: string; readonly epoch: number },
  { offer, ...engine }: WorkerEngine,
): Promise<void> {
  await db('holdfast.workers')
    .where({ id, epoch })
    .update({ ...engine, offer: JSON.stringify(offer) });
}

/** Says that a worker lives; answers what it was asked to do. Null: a newer process has the worker id. */
export async function recordHeartbeat(
  connection: OwnConnection,
  worker: { readonly id: string; readonly epoch: number; readonly running: number },
): Promise<{ readonly stopAsked: StopMode | null } | null> {
  const [row] = await connection.query<{ stop_asked: StopMode | null }>(
    'update holdfast.workers set heartbeat_at = now(), running = $3 where id = $1 and epoch = $2 returning stop_asked',
    [worker.id, worker.epoch, worker.running],
  );
  return row === undefined ? null : { stopAsked: row.stop_asked };
}

/** Whether a process still has its worker id. */
export async function isOwner(db: Knex, id: string, epoch: number): Promise<boolean> {
  return (await db('holdfast.workers').where({ id, epoch }).first('id')) !== undefined;
}

/** The last heartbeat of a worker, to be compared and no more; null: it has left, or no one knows it. */
export async function heartbeatOf(db: Knex, id: string): Promise<string | null> {
  const row = await db('holdfast.workers')
    .where({ id, stopped_at: null })
    .first(db.raw('heartbeat_at::text as heartbeat'));
  return row?.heartbeat ?? null;
}

/** Which run has the worker to itself; null: none. A crash is blamed on no other then. */
export async function markAlone(db: Knex, id: string, epoch: number, runId: string | null): Promise<void> {
  await db('holdfast.workers').where({ id, epoch }).update({ alone_run_id: runId });
}

/** Marks those of these workers as gone that are not, and tells it. */
const GONE = (which: string): string => `
  with gone as (
    update holdfast.workers set stopped_at = now(), running = 0, alone_run_id = null, told_status = 'stopped'
     where ${which} and stopped_at is null returning id)
  insert into holdfast.system_events (shared, kind, worker_id, data)
  select true, 'worker.shutdown', id, json_build_object('why', cast(:why as text))::text from gone`;

/** Says that a worker has left by itself. */
export async function markStopped(db: Knex, id: string, epoch: number): Promise<void> {
  await deleteWorkNotes(db, { id, epoch });
  await db.raw(GONE('id = :id and epoch = :epoch'), { id, epoch, why: 'left' });
}

/** Says that a worker is dead. To be called by the code that holds its lock. */
export async function markDead(trx: Knex.Transaction, id: string): Promise<void> {
  await trx.raw(GONE('id = :id'), { id, why: 'dead' });
}

/** Says that a process begins to leave: what ends it before it has left is no run of its. */
export async function markLeaving(db: Knex, id: string, epoch: number): Promise<void> {
  await db('holdfast.workers').where({ id, epoch }).update({ leaving_at: db.fn.now() });
}

/** Asks a worker to stop; it sees that at its next heartbeat. One that was asked to drain may still be asked to stop. */
export async function askToStop(db: Knex, id: string, mode: StopMode): Promise<void> {
  await db('holdfast.workers')
    .where({ id })
    .whereNull('stopped_at')
    .where((open) => open.whereNull('stop_asked').orWhere({ stop_asked: 'drain' }))
    .update({ stop_asked: mode });
}

export async function forgetOldWorkers(db: Knex): Promise<void> {
  await db('holdfast.workers').whereRaw(`heartbeat_at < now() - interval '${FORGOTTEN_AFTER}'`).delete();
}

export interface WorkerRow {
  id: string;
  epoch: number;
  build: string;
  pid: number;
  role: WorkerRole;
  capacity: number;
  running: number;
  containers: boolean;
  engine: string | null;
  offer: string | null;
  alone_run_id: string | null;
  stop_asked: StopMode | null;
  started_at: Date;
  heartbeat_at: Date;
  stopped_at: Date | null;
  silent: boolean;
}

const workers = (db: Knex) => db('holdfast.workers').select('*', db.raw(`heartbeat_at < now() - ${OLD} as silent`));

const ORDER = [{ column: 'id', order: 'asc' as const }];
const BYTES =
  'octet_length(id) + octet_length(build) + coalesce(octet_length(alone_run_id), 0) + coalesce(octet_length(offer), 0)';

/** By id; `after`: only those whose id comes after it. */
export async function listWorkerRows(
  db: Knex,
  { after, limit }: { readonly after?: string; readonly limit: number },
): Promise<PageRows<WorkerRow>> {
  const query = workers(db);
  if (after !== undefined) query.where('id', '>', after);
  return rowsOfPage<WorkerRow>(db, query, { order: ORDER, bytes: BYTES, limit });
}

export async function findWorker(db: Knex, id: string): Promise<WorkerView | undefined> {
  const row: WorkerRow | undefined = await workers(db).where({ id }).first();
  return row === undefined ? undefined : workerViewOf(row);
}

/** Tells what has become of workers since it was told last, by their heartbeats. One at a time does so. */
export async function recordHealthChanges(trx: Knex.Transaction): Promise<void> {
  await trx.raw(
    `with now as (
       select id, case when stopped_at is not null then 'stopped' when heartbeat_at < now() - ${OLD} then 'silent'
                       when stop_asked is not null then 'stopping' else 'working' end as status
         from holdfast.workers),
     changed as (
       update holdfast.workers w set told_status = now.status
         from now where w.id = now.id and w.told_status is distinct from now.status returning w.id, now.status)
     insert into holdfast.system_events (shared, kind, worker_id, data)
     select true, 'worker.health', id, json_build_object('status', status)::text from changed order by id`,
  );
}

function statusOf(row: WorkerRow): WorkerView['status'] {
  if (row.stopped_at !== null) return 'stopped';
  if (row.silent) return 'silent';
  return row.stop_asked === null ? 'working' : 'stopping';
}

export const workerViewOf = (row: WorkerRow): WorkerView =>
  viewOfRow(row, { table: 'workers', row: row.id }, shownWorker);

const shownWorker = (row: WorkerRow): WorkerView => ({
  id: row.id,
  role: row.role,
  status: statusOf(row),
  build: row.build,
  pid: row.pid,
  epoch: row.epoch,
  capacity: row.capacity,
  running: row.running,
  containers: row.containers,
  engine: row.engine,
  offer: readJsonOrNull(workerOffer, row.offer, { table: 'workers', row: row.id, column: 'offer' }),
  aloneRunId: row.alone_run_id,
  startedAt: row.started_at.toISOString(),
  heartbeatAt: row.heartbeat_at.toISOString(),
  stoppedAt: row.stopped_at?.toISOString() ?? null,
});
