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
    summary: 'Ask a worker to take no more segments and to end.',
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
    summary: 'List work that is not begun any more, since processes died with it.',
    access: { installation: 'viewer' },
    response: setAsideList,
    errors: [],
    args: () => [],
  }),
  liftWork: operation({
    method: 'POST',
    path: '/api/v1/work/lift',
    summary: 'Forget the deaths with a piece of work, so that it is begun again.',
    access: { installation: 'operator' },
    body: liftWork,
    response: liftedWork,
    errors: [],
    audited: true,
    args: ({ body }) => [body],
  }),
};
