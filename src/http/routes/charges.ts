import { z } from 'zod';
import { chargeView } from '../../core/budgets/charge.js';
import { spendQuery, spendView } from '../../core/budgets/spend.js';
import { idPath, pageOf, pageQuery, sequence } from '../fields.js';
import { guarded, json, NO_INPUT } from '../route.js';

export const CHARGE_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/runs/{id}/charges',
    operationId: 'listCharges',
    summary: 'List what the model calls of a run cost.',
    role: 'viewer',
    pathParams: idPath,
    query: z.strictObject({ ...pageQuery, cursor: sequence.default(0) }),
    response: pageOf(chargeView),
    errors: ['run_unknown'],
    handle: async ({ path, query: { cursor, limit } }, { engine, caller }) =>
      json(await engine.listCharges(path.id, { after: cursor, limit }, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/spend',
    operationId: 'listSpend',
    summary: 'Sum up what was spent, by day, agent or model.',
    role: 'viewer',
    query: z.strictObject({ ...pageQuery, ...spendQuery }),
    response: pageOf(spendView),
    errors: [],
    handle: async ({ query }, { engine, caller }) => json(await engine.listSpend(query, caller)),
  }),
];
