import { z } from 'zod';
import { sessionItem, sessionView } from '../agents/session.js';
import { idPath, pageOf, pageQuery, position } from './fields.js';
import { operation } from './operation.js';

export const SESSION_OPERATIONS = {
  listSessions: operation({
    method: 'GET',
    path: '/api/v1/sessions',
    summary: 'List sessions, newest first.',
    access: { tenant: 'viewer' },
    query: z.strictObject(pageQuery),
    response: pageOf(sessionView),
    errors: [],
    args: ({ query }, { caller }) => [query, caller],
  }),
  getSession: operation({
    method: 'GET',
    path: '/api/v1/sessions/{id}',
    summary: 'Read a session.',
    access: { tenant: 'viewer' },
    pathParams: idPath,
    response: sessionView,
    errors: ['session_unknown'],
    args: ({ path }, { caller }) => [path.id, caller],
  }),
  listSessionItems: operation({
    method: 'GET',
    path: '/api/v1/sessions/{id}/items',
    summary: 'Page through the items of a session, in order.',
    access: { tenant: 'viewer' },
    pathParams: idPath,
    query: z.strictObject({ ...pageQuery, cursor: position.default(0) }),
    response: pageOf(sessionItem),
    errors: ['session_unknown'],
    args: ({ path, query: { cursor, limit } }, { caller }) => [path.id, { after: cursor, limit }, caller],
  }),
  deleteSession: operation({
    method: 'DELETE',
    path: '/api/v1/sessions/{id}',
    summary: 'Remove a session with its items; its runs stay.',
    access: { tenant: 'admin' },
    pathParams: idPath,
    response: sessionView,
    errors: ['session_unknown', 'session_busy'],
    audited: true,
    args: ({ path }, { caller }) => [path.id, caller],
  }),
};
