import type { Knex } from 'knex';

/** Registers a process under a worker id and returns its epoch, which is one more than that of its predecessor. */
export async function registerWorker(
  db: Knex,
  worker: { readonly id: string; readonly build: string; readonly pid: number },
): Promise<number> {
  const fresh = { started_at: db.fn.now(), heartbeat_at: db.fn.now(), stopped_at: null };
  const [row]: { epoch: number }[] = await db('holdfast.workers')
    .insert({ id: worker.id, epoch: 1, build: worker.build, pid: worker.pid })
    .onConflict('id')
    .merge({ build: worker.build, pid: worker.pid, epoch: db.raw('workers.epoch + 1'), ...fresh })
    .returning('epoch');
  return row?.epoch ?? 1;
}

/** False when a newer process has the worker id. */
export async function beat(db: Knex, id: string, epoch: number): Promise<boolean> {
  const alive: number = await db('holdfast.workers').where({ id, epoch }).update({ heartbeat_at: db.fn.now() });
  return alive > 0;
}

export async function markStopped(db: Knex, id: string, epoch: number): Promise<void> {
  await db('holdfast.workers').where({ id, epoch }).update({ stopped_at: db.fn.now() });
}
