import { z } from 'zod';
import { chargeView, spendQuery, spendView } from '../budgets/charge.js';
import { idPath, pageOf, pageQuery, position } from './fields.js';
import { operation } from './operation.js';

export const CHARGE_OPERATIONS = {
  listCharges: operation({
    method: 'GET',
    path: '/api/v1/runs/{id}/charges',
    summary: 'List what the model calls of a run cost.',
    access: { tenant: 'viewer' },
    pathParams: idPath,
    query: z.strictObject({ ...pageQuery, cursor: position.default(0) }),
    response: pageOf(chargeView),
    errors: ['run_unknown'],
    args: ({ path, query: { cursor, limit } }, { caller }) => [path.id, { after: cursor, limit }, caller],
  }),
  listSpend: operation({
    method: 'GET',
    path: '/api/v1/spend',
    summary: 'Sum up what was spent, by day, agent or model.',
    access: { tenant: 'viewer' },
    query: z.strictObject({ ...pageQuery, ...spendQuery }),
    response: pageOf(spendView),
    errors: [],
    args: ({ query }, { caller }) => [query, caller],
  }),
};
