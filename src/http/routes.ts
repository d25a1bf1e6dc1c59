import { z } from 'zod';
import { openApiDocument } from './openapi.js';
import { type GuardedRoute, guarded, json, NO_INPUT, type Route } from './route.js';
import { CHARGE_ROUTES } from './routes/charges.js';
import { EMITTED_EVENT_ROUTES } from './routes/emitted-events.js';
import { ERASURE_ROUTES } from './routes/erasures.js';
import { EVENT_ROUTES } from './routes/events.js';
import { EVIDENCE_ROUTES } from './routes/evidence.js';
import { EXPORT_ROUTES } from './routes/exports.js';
import { INTERRUPTION_ROUTES } from './routes/interruptions.js';
import { LOG_ROUTES } from './routes/log.js';
import { METRICS_ROUTES } from './routes/metrics.js';
import { RUN_ROUTES } from './routes/runs.js';
import { SESSION_ROUTES } from './routes/sessions.js';
import { SET_ASIDE_ROUTES } from './routes/set-aside.js';
import { STANDING_DECISION_ROUTES } from './routes/standing-decisions.js';
import { OPEN_ROUTES, SYSTEM_ROUTES } from './routes/system.js';
import { SYSTEM_EVENT_ROUTES } from './routes/system-events.js';
import { TASK_ROUTES } from './routes/tasks.js';
import { TRAJECTORY_ROUTES } from './routes/trajectories.js';
import { WORKER_ROUTES } from './routes/workers.js';

const DOCUMENT_ROUTE = guarded({
  ...NO_INPUT,
  method: 'GET',
  path: '/api/v1/openapi.json',
  operationId: 'getOpenApi',
  summary: 'Read this document.',
  role: 'viewer',
  response: z.looseObject({ openapi: z.string() }),
  errors: [],
  handle: async () => json(openApiDocument(ROUTES)),
});

export const GUARDED_ROUTES: readonly GuardedRoute[] = [
  ...RUN_ROUTES,
  ...TASK_ROUTES,
  ...EVIDENCE_ROUTES,
  ...ERASURE_ROUTES,
  ...LOG_ROUTES,
  ...EVENT_ROUTES,
  ...CHARGE_ROUTES,
  // Before those that read a trajectory by its id.
  ...EXPORT_ROUTES,
  ...TRAJECTORY_ROUTES,
  ...INTERRUPTION_ROUTES,
  ...STANDING_DECISION_ROUTES,
  ...SESSION_ROUTES,
  ...EMITTED_EVENT_ROUTES,
  ...SYSTEM_EVENT_ROUTES,
  ...WORKER_ROUTES,
  ...SET_ASIDE_ROUTES,
  ...SYSTEM_ROUTES,
  ...METRICS_ROUTES,
  DOCUMENT_ROUTE,
];

/** Every route of the server: what the app serves, and what OpenAPI and docs/http.md describe. */
export const ROUTES: readonly Route[] = [...GUARDED_ROUTES, ...OPEN_ROUTES];
