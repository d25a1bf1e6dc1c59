import { z } from 'zod';
import { OBJECT_STORE_CODES } from '../errors/store-errors.js';
import { consistencyView, logEntryView, logReport, logView } from '../evidence/log-view.js';
import { proofBundle } from '../evidence/proof.js';
import { idPath, pageOf, pageQuery } from './fields.js';
import { operation } from './operation.js';

const size = z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER);
const index = z.string().regex(/^\d{1,15}$/, 'expected the index of an entry');

export const LOG_OPERATIONS = {
  exportProof: operation({
    method: 'GET',
    path: '/api/v1/runs/{id}/proof',
    summary: 'Read what proves the log of a run to someone who trusts a public key alone.',
    access: { tenant: 'viewer' },
    pathParams: idPath,
    query: z.strictObject({
      payloads: z.enum(['true', 'false']).default('true').describe('Whether payloads are shown, with their salts.'),
    }),
    response: proofBundle,
    errors: ['run_unknown', 'run_not_anchored', 'log_broken', 'rate_limited', ...OBJECT_STORE_CODES],
    args: ({ path, query }, { caller, signal }) => [path.id, { payloads: query.payloads === 'true', signal }, caller],
  }),
  getLog: operation({
    method: 'GET',
    path: '/api/v1/log/checkpoint',
    summary: 'Read the newest signed checkpoint of the log over all runs.',
    access: 'shared',
    response: logView,
    errors: OBJECT_STORE_CODES,
    args: () => [],
  }),
  checkpointNow: operation({
    method: 'POST',
    path: '/api/v1/log/checkpoint',
    summary: 'Enter what runs have done into the log over all of them, and sign it now.',
    access: { installation: 'operator' },
    response: logView,
    errors: OBJECT_STORE_CODES,
    args: () => [],
  }),
  getConsistency: operation({
    method: 'GET',
    path: '/api/v1/log/consistency',
    summary: 'Read the proof that the log of one size begins with that of an earlier one.',
    access: 'shared',
    query: z.strictObject({ earlier: size, size }),
    response: consistencyView,
    errors: ['log_broken'],
    args: ({ query }) => [query],
  }),
  listLogEntries: operation({
    method: 'GET',
    path: '/api/v1/log/entries',
    summary: 'Page through the log over all runs; of other tenants it tells the leaves alone.',
    access: 'shared',
    query: z.strictObject({ limit: pageQuery.limit, cursor: index.default('0') }),
    response: pageOf(logEntryView),
    errors: [],
    args: ({ query }, { caller }) => [{ after: Number(query.cursor), limit: query.limit }, caller],
  }),
  verifyLog: operation({
    method: 'POST',
    path: '/api/v1/log/verify',
    summary: 'Verify the log over all runs: its tree, every checkpoint, and every event that an entry commits to.',
    access: { installation: 'viewer' },
    response: logReport,
    errors: ['rate_limited', ...OBJECT_STORE_CODES],
    args: (_input, { caller, signal }) => [caller, { signal }],
  }),
};
