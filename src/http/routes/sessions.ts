import { z } from 'zod';
import { sessionItem, sessionView } from '../../core/agents/session.js';
import { idPath, pageOf, pageQuery, sequence } from '../fields.js';
import { guarded, json, NO_INPUT } from '../route.js';

export const SESSION_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/sessions',
    operationId: 'listSessions',
    summary: 'List sessions, newest first.',
    role: 'viewer',
    query: z.strictObject(pageQuery),
    response: pageOf(sessionView),
    errors: [],
    handle: async ({ query }, { engine, caller }) => json(await engine.listSessions(query, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/sessions/{id}',
    operationId: 'getSession',
    summary: 'Read a session.',
    role: 'viewer',
    pathParams: idPath,
    response: sessionView,
    errors: ['session_unknown'],
    handle: async ({ path }, { engine, caller }) => json(await engine.getSession(path.id, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/sessions/{id}/items',
    operationId: 'listSessionItems',
    summary: 'Page through the items of a session, in order.',
    role: 'viewer',
    pathParams: idPath,
    query: z.strictObject({ ...pageQuery, cursor: sequence.default(0) }),
    response: pageOf(sessionItem),
    errors: ['session_unknown'],
    handle: async ({ path, query: { cursor, limit } }, { engine, caller }) =>
      json(await engine.listSessionItems(path.id, { after: cursor, limit }, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'DELETE',
    path: '/api/v1/sessions/{id}',
    operationId: 'deleteSession',
    summary: 'Remove a session with its items; its runs stay.',
    role: 'admin',
    pathParams: idPath,
    response: sessionView,
    errors: ['session_unknown', 'session_busy'],
    audited: true,
    handle: async ({ path }, { engine, caller }) => json(await engine.deleteSession(path.id, caller)),
  }),
];
