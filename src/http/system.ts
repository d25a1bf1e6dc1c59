import { z } from 'zod';
import type { Engine } from '../engine/verbs.js';
import { guarded, json, NO_INPUT, type OpenRoute } from './route.js';
import { agentView, health, stats } from './views.js';

export const SYSTEM_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/agents',
    operationId: 'listAgents',
    summary: 'List the agents that runs can be started of, with the marks of their tools.',
    role: 'viewer',
    response: z.object({ items: z.array(agentView) }),
    errors: [],
    handle: async (_input, { engine, caller }) => json({ items: await engine.listAgents(caller) }),
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
    summary: 'Count runs, interruptions, events, tokens and dollars.',
    role: 'viewer',
    response: stats,
    errors: [],
    handle: async (_input, { engine, caller }) => json(await engine.stats(caller)),
  }),
];

const READY_TIMEOUT_MS = 2000;
const probe = z.object({ status: z.enum(['pass', 'fail']) }).meta({ id: 'Probe' });

/** A health check that hangs is a failed one. */
async function isReady(engine: Engine): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'fail'>((resolve) => {
    timer = setTimeout(resolve, READY_TIMEOUT_MS, 'fail');
  });
  const checked = engine.health().then(
    ({ status }) => status,
    () => 'fail' as const,
  );
  const status = await Promise.race([checked, late]);
  clearTimeout(timer);
  return status !== 'fail';
}

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
      'Say whether requests should be sent here; 503 while starting, draining or without a database. Needs no token.',
    role: null,
    response: probe,
    errors: [],
    call: async ({ engine, draining }) =>
      !draining && (await isReady(engine))
        ? { status: 200, body: { status: 'pass' } }
        : { status: 503, body: { status: 'fail' } },
  },
];
