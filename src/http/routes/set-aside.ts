import { liftedWork, liftWork, setAsideList } from '../../core/runs/set-aside.js';
import { guarded, json, NO_INPUT } from '../route.js';

export const SET_ASIDE_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/work',
    operationId: 'listSetAside',
    summary: 'List work that is not begun any more, since processes died with it.',
    role: 'viewer',
    response: setAsideList,
    errors: [],
    handle: async (_input, { engine }) => json(await engine.listSetAside()),
  }),
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/work/lift',
    operationId: 'liftWork',
    summary: 'Forget the deaths with a piece of work, so that it is begun again.',
    role: 'viewer',
    body: liftWork,
    response: liftedWork,
    errors: [],
    audited: true,
    handle: async ({ body }, { engine }) => json(await engine.liftWork(body)),
  }),
];
