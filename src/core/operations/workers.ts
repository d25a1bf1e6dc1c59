import { z } from 'zod';
import { workerStop, workerView } from '../queue/worker.js';
import { liftedWork, liftWork, setAsideList } from '../runs/set-aside.js';
import { idPath, pageOf, pageQuery } from './fields.js';
import { operation } from './operation.js';

export const WORKER_OPERATIONS = {
  listWorkers: operation({
    method: 'GET',
    path: '/api/v1/workers',
    summary: 'List the processes of this database, by id.',
    access: { installation: 'viewer' },
    query: z.strictObject(pageQuery),
    response: pageOf(workerView),
    errors: [],
    args: ({ query }) => [query],
  }),
  getWorker: operation({
    method: 'GET',
    path: '/api/v1/workers/{id}',
    summary: 'Read a worker.',
    access: { installation: 'viewer' },
    pathParams: idPath,
    response: workerView,
    errors: ['worker_unknown'],
    args: ({ path }) => [path.id],
  }),
  stopWorker: operation({
    method: 'POST',
    path: '/api/v1/workers/{id}/stop',
    summary: 'Stop a worker: it takes no more segments, and ends.',
    access: { installation: 'operator' },
    pathParams: idPath,
    body: workerStop,
    response: workerView,
    errors: ['worker_unknown'],
    audited: true,
    args: ({ path, body }) => [path.id, body],
  }),
};

export const SET_ASIDE_OPERATIONS = {
  listSetAside: operation({
    method: 'GET',
    path: '/api/v1/work',
    summary: 'List set-aside work: workers no longer begin it, because processes died with it.',
    access: { installation: 'viewer' },
    response: setAsideList,
    errors: [],
    args: () => [],
  }),
  liftWork: operation({
    method: 'POST',
    path: '/api/v1/work/lift',
    summary: 'Lift set-aside work: forget the deaths, so that workers begin it again.',
    access: { installation: 'operator' },
    body: liftWork,
    response: liftedWork,
    errors: [],
    audited: true,
    args: ({ body }) => [body],
  }),
};
