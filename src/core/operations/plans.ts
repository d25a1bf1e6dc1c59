import { planCheck, planCheckRequest, planPath, planView } from '../plans/plan-view.js';
import { operation } from './operation.js';

export const PLAN_OPERATIONS = {
  getPlan: operation({
    method: 'GET',
    path: '/api/v1/plans/{name}',
    summary: 'Read a plan: its nodes, its graph, and everything that it can need.',
    access: 'shared',
    pathParams: planPath,
    response: planView,
    errors: ['agent_unknown'],
    args: ({ path }) => [path.name],
  }),
  checkPlan: operation({
    method: 'POST',
    path: '/api/v1/plans/{name}/check',
    summary: 'Check a plan in the place of one of the configuration, with its tools and its grants. Nothing is kept.',
    access: { tenant: 'viewer' },
    pathParams: planPath,
    body: planCheckRequest,
    response: planCheck,
    errors: ['agent_unknown'],
    args: ({ path, body }) => [path.name, body],
  }),
};
