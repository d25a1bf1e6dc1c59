import type { Knex } from 'knex';
import { HEARTBEAT_OLD_MS, type StopMode, type WorkerRole, type WorkerView } from '../core/worker.js';

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

/** Registers a process under a worker id and returns its epoch, which is one more than that of its predecessor. */
export async function registerWorker(db: Knex, { id, recordingVersion, ...rest }: NewWorker): Promise<number> {
  const worker = { ...rest, recording_version: recordingVersion };
  const fresh = { started_at: db.fn.now(), heartbeat_at: db.fn.now(), stopped_at: null };
  const idle = { running: 0, alone_run_id: null, stop_asked: null };
  const [row]: { epoch: number }[] = await db('holdfast.workers')
    .insert({ id, epoch: 1, ...worker })
    .onConflict('id')
    .merge({ ...worker, epoch: db.raw('workers.epoch + 1'), ...fresh, ...idle })
    .returning('epoch');
  return row?.epoch ?? 1;
}

/** Says that a worker lives; answers what it was asked to do. Null: a newer process has the worker id. */
export async function beat(
  db: Knex,
  worker: { readonly id: string; readonly epoch: number; readonly running: number },
): Promise<{ readonly stopAsked: StopMode | null } | null> {
  const { id, epoch, running } = worker;
  const [row]: { stop_asked: StopMode | null }[] = await db('holdfast.workers')
    .where({ id, epoch })
    .update({ heartbeat_at: db.fn.now(), running })
    .returning('stop_asked');
  return row === undefined ? null : { stopAsked: row.stop_asked };
}

/** Whether a process still has its worker id. */
export async function isOwner(db: Knex, id: string, epoch: number): Promise<boolean> {
  return (await db('holdfast.workers').where({ id, epoch }).first('id')) !== undefined;
}

/** Which run has the worker to itself; null: none. A crash is blamed on no other then. */
export async function markAlone(db: Knex, id: string, epoch: number, runId: string | null): Promise<void> {
  await db('holdfast.workers').where({ id, epoch }).update({ alone_run_id: runId });
}

export async function markStopped(db: Knex, id: string, epoch: number): Promise<void> {
  await db('holdfast.workers').where({ id, epoch }).update({ stopped_at: db.fn.now(), running: 0, alone_run_id: null });
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

interface WorkerRow {
  id: string;
  epoch: number;
  build: string;
  pid: number;
  role: WorkerRole;
  capacity: number;
  running: number;
  alone_run_id: string | null;
  stop_asked: StopMode | null;
  started_at: Date;
  heartbeat_at: Date;
  stopped_at: Date | null;
  silent: boolean;
}

/** By id; `after`: only those whose id comes after it. */
export async function readWorkers(
  db: Knex,
  filter: { readonly id?: string; readonly after?: string; readonly limit: number },
): Promise<readonly WorkerView[]> {
  const rows: WorkerRow[] = await db('holdfast.workers')
    .modify((query) => {
      if (filter.id !== undefined) query.where({ id: filter.id });
      if (filter.after !== undefined) query.where('id', '>', filter.after);
    })
    .orderBy('id')
    .limit(filter.limit)
    .select('*', db.raw(`heartbeat_at < now() - ${OLD} as silent`));
  return rows.map(workerViewOf);
}

function statusOf(row: WorkerRow): WorkerView['status'] {
  if (row.stopped_at !== null) return 'stopped';
  if (row.silent) return 'silent';
  return row.stop_asked === null ? 'working' : 'stopping';
}

const workerViewOf = (row: WorkerRow): WorkerView => ({
  id: row.id,
  role: row.role,
  status: statusOf(row),
  build: row.build,
  pid: row.pid,
  epoch: row.epoch,
  capacity: row.capacity,
  running: row.running,
  aloneRunId: row.alone_run_id,
  startedAt: row.started_at.toISOString(),
  heartbeatAt: row.heartbeat_at.toISOString(),
  stoppedAt: row.stopped_at?.toISOString() ?? null,
});
