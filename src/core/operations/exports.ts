import { z } from 'zod';
import { exportView, startExport } from '../exports/export.js';
import { idPath, pageOf, pageQuery } from './fields.js';
import { operation } from './operation.js';

export const EXPORT_OPERATIONS = {
  startExport: operation({
    method: 'POST',
    path: '/api/v1/trajectories/export',
    summary: 'Export trajectories as training data.',
    access: { tenant: 'operator' },
    body: startExport,
    status: 202,
    response: exportView,
    errors: [],
    audited: true,
    location: '/api/v1/trajectories/exports/{id}',
    args: ({ body }, { caller }) => [body, caller],
  }),
  listExports: operation({
    method: 'GET',
    path: '/api/v1/trajectories/exports',
    summary: 'List exports, newest first.',
    access: { tenant: 'viewer' },
    query: z.strictObject(pageQuery),
    response: pageOf(exportView),
    errors: [],
    args: ({ query }, { caller }) => [query, caller],
  }),
  getExport: operation({
    method: 'GET',
    path: '/api/v1/trajectories/exports/{id}',
    summary: 'Read an export: how far it is, and what it has written.',
    access: { tenant: 'viewer' },
    pathParams: idPath,
    response: exportView,
    errors: ['export_unknown'],
    args: ({ path }, { caller }) => [path.id, caller],
  }),
  readExportFile: operation({
    method: 'GET',
    path: '/api/v1/trajectories/exports/{id}/file',
    summary: 'Download a file of an export that is on the disk of this server.',
    access: { tenant: 'viewer' },
    pathParams: idPath,
    query: z.strictObject({ path: z.string().min(1).max(1000).describe('`path` of one of the files.') }),
    media: 'application/octet-stream',
    response: z.string(),
    errors: ['export_unknown', 'export_file_unknown'],
    args: ({ path, query }, { caller }) => [path.id, query.path, caller],
  }),
  cancelExport: operation({
    method: 'POST',
    path: '/api/v1/trajectories/exports/{id}/cancel',
    summary: 'Ask an export to stop.',
    access: { tenant: 'operator' },
    pathParams: idPath,
    response: exportView,
    errors: ['export_unknown', 'export_over'],
    audited: true,
    args: ({ path }, { caller }) => [path.id, caller],
  }),
};
