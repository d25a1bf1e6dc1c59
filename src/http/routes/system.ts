import { z } from 'zod';
import { health } from '../../core/ops/health.js';
import { stats } from '../../core/ops/stats.js';
import { pageOf, pageQuery } from '../fields.js';
import { guarded, json, NO_INPUT, type OpenRoute } from '../route.js';
import { agentView } from './views.js';

export const SYSTEM_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/agents',
    operationId: 'listAgents',
    summary: 'List the agents that runs can be started of, with the marks of their tools.',
    role: 'viewer',
    query: z.strictObject(pageQuery),
    response: pageOf(agentView),
    errors: [],
    handle: async ({ query }, { engine, caller }) => json(await engine.listAgents(query, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/health',
    operationId: 'getHealth',
    summary: 'Say how the parts of the server are.',
    role: 'viewer',
    response: health,
    errors: [],
    handle: async (_input, { engine }) => json(await engine.health()),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/stats',
    operationId: 'getStats',
    summary: 'Count runs, tasks, interruptions, events, tokens and dollars, and what ended lately.',
    role: 'viewer',
    response: stats,
    errors: [],
    handle: async (_input, { engine, caller }) => json(await engine.stats(caller)),
  }),
];

const probe = z.object({ status: z.enum(['pass', 'fail']) }).meta({ id: 'Probe' });

export const OPEN_ROUTES: readonly OpenRoute[] = [
  {
    ...NO_INPUT,
    method: 'GET',
    path: '/livez',
    operationId: 'livez',
    summary: 'Say that the process answers. Needs no token.',
    role: null,
    response: probe,
    errors: [],
    call: async () => ({ status: 200, body: { status: 'pass' } }),
  },
  {
    ...NO_INPUT,
    method: 'GET',
    path: '/readyz',
    operationId: 'readyz',
    summary:
      'Say whether requests should be sent here; 503 while starting, draining or without a database that takes writes. Needs no token.',
    role: null,
    response: probe,
    errors: [],
    call: async ({ engine, draining }) =>
      !draining && (await engine.isReady())
        ? { status: 200, body: { status: 'pass' } }
        : { status: 503, body: { status: 'fail' } },
  },
];
