import { HoldfastError } from '../../core/errors/errors.js';
import type { Page, PageOf } from '../../core/page.js';
import type { WorkerStop, WorkerView } from '../../core/queue/worker.js';
import { askToStop, findWorker, listWorkerRows } from '../../storage/queue/workers.js';
import type { EngineContext } from '../engine-context.js';

export async function listWorkers(context: EngineContext, { limit, cursor }: PageOf): Promise<Page<WorkerView>> {
  const after = cursor === undefined ? {} : { after: cursor };
  const { rows: items, more } = await listWorkerRows(context.stepContext.knex, { ...after, limit });
  return { items, nextCursor: more ? (items.at(-1)?.id ?? null) : null };
}

export async function getWorker(context: EngineContext, id: string): Promise<WorkerView> {
  const worker = await findWorker(context.stepContext.knex, id);
  if (worker === undefined) throw new HoldfastError('worker_unknown', `There is no worker ${JSON.stringify(id)}.`);
  return worker;
}

export async function stopWorker(context: EngineContext, id: string, { mode }: WorkerStop): Promise<WorkerView> {
  await getWorker(context, id);
  await askToStop(context.stepContext.knex, id, mode);
  return getWorker(context, id);
}
