import { HoldfastError } from '../../core/errors/errors.js';
import type { Page, PageOf } from '../../core/page.js';
import type { WorkerStop, WorkerView } from '../../core/queue/worker.js';
import { askToStop, findWorker, listWorkerRows } from '../../storage/queue/workers.js';
import type { Parts } from '../parts.js';

export async function listWorkers(parts: Parts, { limit, cursor }: PageOf): Promise<Page<WorkerView>> {
  const after = cursor === undefined ? {} : { after: cursor };
  const { rows: items, more } = await listWorkerRows(parts.world.knex, { ...after, limit });
  return { items, nextCursor: more ? (items.at(-1)?.id ?? null) : null };
}

export async function getWorker(parts: Parts, id: string): Promise<WorkerView> {
  const worker = await findWorker(parts.world.knex, id);
  if (worker === undefined) throw new HoldfastError('worker_unknown', `There is no worker ${JSON.stringify(id)}.`);
  return worker;
}

export async function stopWorker(parts: Parts, id: string, { mode }: WorkerStop): Promise<WorkerView> {
  await getWorker(parts, id);
  await askToStop(parts.world.knex, id, mode);
  return getWorker(parts, id);
}
