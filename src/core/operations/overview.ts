import { z } from 'zod';
import { chargeView, spendQuery, spendView } from '../budgets/charge.js';
import { nameText } from '../json.js';
import {
  accessView,
  budgetList,
  errorGroups,
  queueOverview,
  SERIES,
  SERIES_NAMES,
  statsSeries,
} from '../ops/overview.js';
import { idPath, pageOf, pageQuery, position } from './fields.js';
import { operation } from './operation.js';

/** The answer says the range again, in years of four digits, and a day before it. */
const time = z.iso.datetime({ offset: true }).refine((at) => {
  // Also asked of a text that is no time, which has no year.
  const year = new Date(at).getUTCFullYear();
  return !(year < 1 || year > 9999);
}, 'expected a time in the years 1 to 9999');
const range = {
  from: time.exactOptional().describe('Unset: a day ago.'),
  to: time.exactOptional().describe('Unset: now.'),
};

type Asked = z.output<z.ZodObject<typeof range>>;

const rangeIn = ({ from, to }: Asked) => ({
  ...(from === undefined ? {} : { from: new Date(from) }),
  ...(to === undefined ? {} : { to: new Date(to) }),
});

const metrics = SERIES_NAMES.map((name) => `\`${name}\`: ${SERIES[name]}.`).join(' ');

const accessQuery = z.strictObject({
  ...pageQuery,
  actor: nameText.exactOptional().describe('Only requests of this actor.'),
});

export const OVERVIEW_OPERATIONS = {
  getQueue: operation({
    method: 'GET',
    path: '/api/v1/queue',
    summary: 'Count the runs that are queued and at work, by agent and by session, with the limits that hold for them.',
    access: { tenant: 'viewer' },
    response: queueOverview,
    errors: [],
    args: (_input, { caller }) => [caller],
  }),
  listErrors: operation({
    method: 'GET',
    path: '/api/v1/errors',
    summary: 'Group what runs failed with by its code.',
    access: { tenant: 'viewer' },
    query: z.strictObject(range),
    response: errorGroups,
    errors: [],
    args: ({ query }, { caller }) => [rangeIn(query), caller],
  }),
  listBudgets: operation({
    method: 'GET',
    path: '/api/v1/budgets',
    summary: 'List the budgets that hold for agents and for the tenant, with what is spent of each.',
    access: { tenant: 'viewer' },
    response: budgetList,
    errors: [],
    args: (_input, { caller }) => [caller],
  }),
  getSeries: operation({
    method: 'GET',
    path: '/api/v1/stats/series',
    summary: 'Count or measure something for each hour or day.',
    description: metrics,
    access: { tenant: 'viewer' },
    query: z.strictObject({
      metric: z.enum(SERIES_NAMES),
      step: z.enum(['hour', 'day']).default('day'),
      from: time.describe('The first point holds this time. At most 366 points.'),
      to: range.to,
    }),
    response: statsSeries,
    errors: [],
    args: ({ query: { metric, step, ...times } }, { caller }) => [
      { metric, step, ...rangeIn(times), from: new Date(times.from) },
      caller,
    ],
  }),
  listAccess: operation({
    method: 'GET',
    path: '/api/v1/access',
    summary: 'List the rows of the access log of the tenant, newest first.',
    access: { tenant: 'admin' },
    query: accessQuery,
    response: pageOf(accessView),
    errors: [],
    args: ({ query }, { caller }) => [query, caller],
  }),
  listRunAccess: operation({
    method: 'GET',
    path: '/api/v1/runs/{id}/access',
    summary: 'List who asked for what about a run, its task and what it waited for, newest first.',
    access: { tenant: 'admin' },
    pathParams: idPath,
    query: accessQuery,
    response: pageOf(accessView),
    errors: ['run_unknown'],
    args: ({ path, query }, { caller }) => [path.id, query, caller],
  }),
};

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
