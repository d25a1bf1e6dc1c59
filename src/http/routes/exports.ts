import { z } from 'zod';
import { exportView, startExport } from '../../core/exports/export.js';
import { idPath, pageOf, pageQuery } from '../fields.js';
import { guarded, json, NO_INPUT } from '../route.js';

export const EXPORT_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/trajectories/export',
    operationId: 'startExport',
    summary: 'Export trajectories as training data.',
    role: 'operator',
    body: startExport,
    status: 202,
    response: exportView,
    errors: [],
    audited: true,
    handle: async ({ body }, { engine, caller }) => {
      const made = await engine.startExport(body, caller);
      return { type: 'json', status: 202, body: made, location: `/api/v1/trajectories/exports/${made.id}` };
    },
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/trajectories/exports',
    operationId: 'listExports',
    summary: 'List exports, newest first.',
    role: 'viewer',
    query: z.strictObject(pageQuery),
    response: pageOf(exportView),
    errors: [],
    handle: async ({ query }, { engine, caller }) => json(await engine.listExports(query, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/trajectories/exports/{id}',
    operationId: 'getExport',
    summary: 'Read an export: how far it is, and what it has written.',
    role: 'viewer',
    pathParams: idPath,
    response: exportView,
    errors: ['export_unknown'],
    handle: async ({ path }, { engine, caller }) => json(await engine.getExport(path.id, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/trajectories/exports/{id}/cancel',
    operationId: 'cancelExport',
    summary: 'Ask an export to stop.',
    role: 'operator',
    pathParams: idPath,
    response: exportView,
    errors: ['export_unknown', 'export_over'],
    audited: true,
    handle: async ({ path }, { engine, caller }) => json(await engine.cancelExport(path.id, caller)),
  }),
];
