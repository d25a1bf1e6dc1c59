import { z } from 'zod';
import { agentDefinition, agentDetail, agentView } from '../agents/agent-view.js';
import { idText, nameText } from '../json.js';
import { health } from '../ops/health.js';
import { stats } from '../ops/stats.js';
import { pageOf, pageQuery } from './fields.js';
import { operation } from './operation.js';

export const SYSTEM_OPERATIONS = {
  listAgents: operation({
    method: 'GET',
    path: '/api/v1/agents',
    summary: 'List the agents that runs can be started of, with the marks of their tools.',
    access: 'shared',
    query: z.strictObject(pageQuery),
    response: pageOf(agentView),
    errors: [],
    args: ({ query }, { caller }) => [query, caller],
  }),
  getAgent: operation({
    method: 'GET',
    path: '/api/v1/agents/{name}',
    summary: 'Read an agent: its definition, and those that runs have had.',
    access: 'shared',
    pathParams: z.strictObject({ name: nameText }),
    response: agentDetail,
    errors: ['agent_unknown'],
    args: ({ path }, { caller }) => [path.name, caller],
  }),
  getDefinition: operation({
    method: 'GET',
    path: '/api/v1/agents/{name}/definitions/{hash}',
    summary: 'Read a definition that runs of an agent have had.',
    access: { tenant: 'viewer' },
    pathParams: z.strictObject({ name: nameText, hash: idText }),
    response: agentDefinition,
    errors: ['agent_unknown', 'row_changed'],
    args: ({ path }, { caller }) => [path.name, path.hash, caller],
  }),
  getHealth: operation({
    calls: 'health',
    method: 'GET',
    path: '/api/v1/health',
    summary: 'Say how the parts of the server are.',
    access: 'shared',
    response: health,
    errors: [],
    args: (_input, { caller }) => [caller],
  }),
  getStats: operation({
    calls: 'stats',
    method: 'GET',
    path: '/api/v1/stats',
    summary: 'Count runs, tasks, interruptions, events, tokens and dollars, and what ended lately.',
    access: { tenant: 'viewer' },
    response: stats,
    errors: [],
    args: (_input, { caller }) => [caller],
  }),
  getMetrics: operation({
    calls: 'metrics',
    method: 'GET',
    path: '/api/v1/metrics',
    summary: 'Read what Prometheus scrapes, in its text format.',
    access: { installation: 'viewer' },
    media: 'text/plain',
    response: z.string(),
    errors: [],
    args: (_input, { caller }) => [caller],
  }),
};
