import { z } from 'zod';
import { OBJECT_STORE_CODES } from '../../core/errors/object-store-errors.js';
import { consistencyView, logEntryView, logReport, logView } from '../../core/evidence/log-view.js';
import { proofBundle } from '../../core/evidence/proof.js';
import { idPath, pageOf, pageQuery } from '../fields.js';
import { guarded, json, NO_INPUT } from '../route.js';

const size = z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER);
const index = z.string().regex(/^\d{1,15}$/, 'expected the index of an entry');

export const LOG_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/runs/{id}/proof',
    operationId: 'exportProof',
    summary: 'Read what proves the log of a run to somebody who trusts a public key alone.',
    role: 'viewer',
    pathParams: idPath,
    query: z.strictObject({
      payloads: z.enum(['true', 'false']).default('true').describe('Whether payloads are shown, with their salts.'),
    }),
    response: proofBundle,
    errors: ['run_unknown', 'run_not_anchored', 'log_broken', 'rate_limited', ...OBJECT_STORE_CODES],
    handle: async ({ path, query }, { engine, caller, signal }) =>
      json(await engine.exportProof(path.id, { payloads: query.payloads === 'true', signal }, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/log/checkpoint',
    operationId: 'getLog',
    summary: 'Read the newest signed checkpoint of the log over all runs.',
    role: 'viewer',
    response: logView,
    errors: OBJECT_STORE_CODES,
    handle: async (_input, { engine }) => json(await engine.getLog()),
  }),
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/log/checkpoint',
    operationId: 'checkpointNow',
    summary: 'Enter what runs have done into the log over all of them, and sign it now.',
    role: 'viewer',
    response: logView,
    errors: OBJECT_STORE_CODES,
    handle: async (_input, { engine }) => json(await engine.checkpointNow()),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/log/consistency',
    operationId: 'getConsistency',
    summary: 'Read the proof that the log of one size begins with that of an earlier one.',
    role: 'viewer',
    query: z.strictObject({ earlier: size, size }),
    response: consistencyView,
    errors: ['log_broken'],
    handle: async ({ query }, { engine }) => json(await engine.getConsistency(query)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/log/entries',
    operationId: 'listLogEntries',
    summary: 'Page through the log over all runs; of other tenants it tells the leaves alone.',
    role: 'viewer',
    query: z.strictObject({ limit: pageQuery.limit, cursor: index.default('0') }),
    response: pageOf(logEntryView),
    errors: [],
    handle: async ({ query }, { engine, caller }) =>
      json(await engine.listLogEntries({ after: Number(query.cursor), limit: query.limit }, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/log/verify',
    operationId: 'verifyLog',
    summary: 'Verify the log over all runs: its tree, every checkpoint, and every event that an entry commits to.',
    role: 'viewer',
    response: logReport,
    errors: ['rate_limited', ...OBJECT_STORE_CODES],
    handle: async (_input, { engine, caller, signal }) => json(await engine.verifyLog(caller, { signal })),
  }),
];
