import { z } from 'zod';
import { NO_INPUT } from '../core/operations/operation.js';
import type { OpenRoute } from './route.js';

const probe = z.object({ status: z.enum(['pass', 'fail']) }).meta({ id: 'Probe' });

/** What a supervisor asks of the process itself. */
export const OPEN_ROUTES: readonly OpenRoute[] = [
  {
    ...NO_INPUT,
    method: 'GET',
    path: '/livez',
    operationId: 'livez',
    summary: 'Say that the process answers. Needs no token.',
    access: 'open',
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
    access: 'open',
    response: probe,
    errors: [],
    call: async ({ engine, draining }) =>
      !draining && (await engine.isReady())
        ? { status: 200, body: { status: 'pass' } }
        : { status: 503, body: { status: 'fail' } },
  },
];
