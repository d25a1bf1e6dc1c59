import { z } from 'zod';
import { workerStop, workerView } from '../../core/queue/worker.js';
import { idPath, pageOf, pageQuery } from '../fields.js';
import { guarded, json, NO_INPUT } from '../route.js';

export const WORKER_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/workers',
    operationId: 'listWorkers',
    summary: 'List the processes of this database, by id.',
    role: 'viewer',
    query: z.strictObject(pageQuery),
    response: pageOf(workerView),
    errors: [],
    handle: async ({ query }, { engine }) => json(await engine.listWorkers(query)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/workers/{id}',
    operationId: 'getWorker',
    summary: 'Read a worker.',
    role: 'viewer',
    pathParams: idPath,
    response: workerView,
    errors: ['worker_unknown'],
    handle: async ({ path }, { engine }) => json(await engine.getWorker(path.id)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/workers/{id}/stop',
    operationId: 'stopWorker',
    summary: 'Ask a worker to take no more segments and to end.',
    role: 'viewer',
    pathParams: idPath,
    body: workerStop,
    response: workerView,
    errors: ['worker_unknown'],
    audited: true,
    handle: async ({ path, body }, { engine }) => json(await engine.stopWorker(path.id, body)),
  }),
];
