import { eraseRun, erasureView } from '../core/erasure.js';
import { retentionView } from '../core/retention.js';
import { eraseSubject, subjectErasureView } from '../core/subject-erasure.js';
import { idPath } from './fields.js';
import { guarded, json, NO_INPUT } from './route.js';

export const ERASURE_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/runs/{id}/erase',
    operationId: 'eraseRun',
    summary: 'Erase the content of a run that is over; its log still verifies.',
    role: 'admin',
    pathParams: idPath,
    body: eraseRun,
    response: erasureView,
    errors: ['run_unknown', 'run_not_over'],
    audited: true,
    handle: async ({ path, body }, { engine, caller }) => json(await engine.eraseRun(path.id, body, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/erasures',
    operationId: 'eraseSubject',
    summary: 'Erase all runs of a subject.',
    role: 'admin',
    body: eraseSubject,
    status: 202,
    response: subjectErasureView,
    errors: ['run_not_over'],
    audited: true,
    handle: async ({ body }, { engine, caller }) => ({
      ...{ type: 'json', status: 202, body: await engine.eraseSubject(body, caller) },
    }),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/erasures/{id}',
    operationId: 'getSubjectErasure',
    summary: 'Say how far the erasure of a subject is.',
    role: 'viewer',
    pathParams: idPath,
    response: subjectErasureView,
    errors: ['erasure_unknown'],
    handle: async ({ path }, { engine, caller }) => json(await engine.getSubjectErasure(path.id, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/retention',
    operationId: 'previewRetention',
    summary: 'Say what would go now by the retention of the configuration.',
    role: 'viewer',
    response: retentionView,
    errors: [],
    handle: async (_input, { engine, caller }) => json(await engine.previewRetention(caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/retention',
    operationId: 'askForRetention',
    summary: 'Have a worker do now what the retention of the configuration says.',
    role: 'admin',
    status: 202,
    response: retentionView,
    errors: [],
    audited: true,
    handle: async (_input, { engine, caller }) => ({
      ...{ type: 'json', status: 202, body: await engine.askForRetention(caller) },
    }),
  }),
];
