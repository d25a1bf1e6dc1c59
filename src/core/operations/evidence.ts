import { z } from 'zod';
import { OBJECT_STORE_CODES } from '../errors/store-errors.js';
import { anchoredReport } from '../evidence/log-view.js';
import { idText, nameText } from '../json.js';
import { repairReport, repairRequest } from '../log/repair.js';
import { stateAt } from '../log/state.js';
import { verifyRange } from '../log/verify-log.js';
import { runDiff } from '../replay/run-diff.js';
import { runStatus } from '../runs/run.js';
import { idPath, pageOf, pageQuery } from './fields.js';
import { operation } from './operation.js';

const diffPath = idPath.extend({ other: idText });

export const EVIDENCE_OPERATIONS = {
  verifyRun: operation({
    method: 'POST',
    path: '/api/v1/runs/{id}/verify',
    summary: 'Verify the event log of a run, or a range of it.',
    access: { tenant: 'viewer' },
    pathParams: idPath,
    body: verifyRange,
    response: anchoredReport,
    errors: ['run_unknown', 'rate_limited', ...OBJECT_STORE_CODES],
    args: ({ path, body }, { caller, signal }) => [path.id, caller, body, { signal }],
  }),
  verifyRuns: operation({
    method: 'GET',
    path: '/api/v1/verify',
    summary: 'Verify the event logs of all runs, newest first, a page at a time.',
    access: { tenant: 'viewer' },
    query: z.strictObject({ ...pageQuery, status: runStatus.exactOptional(), agent: nameText.exactOptional() }),
    response: pageOf(anchoredReport),
    errors: ['rate_limited', ...OBJECT_STORE_CODES],
    args: ({ query }, { caller, signal }) => [query, caller, { signal }],
  }),
  repairRun: operation({
    method: 'POST',
    path: '/api/v1/runs/{id}/repair',
    summary: 'Say what a broken log has lost, and go on from its last whole event in a new run.',
    access: { tenant: 'admin' },
    pathParams: idPath,
    body: repairRequest,
    response: repairReport,
    errors: [
      'run_unknown',
      'run_erased',
      'run_not_over',
      'log_whole',
      'log_lost',
      'repair_repeats',
      'agent_unknown',
      'rate_limited',
    ],
    audited: true,
    args: ({ path, body }, { caller, signal }) => [path.id, body, caller, { signal }],
  }),
  stateAt: operation({
    method: 'GET',
    path: '/api/v1/runs/{id}/state',
    summary: 'Read the state that the log of a run folds to, after any of its events.',
    access: { tenant: 'viewer' },
    pathParams: idPath,
    query: z.strictObject({
      at: z.coerce.number().int().min(1).exactOptional().describe('Number of the event. Without: the last.'),
    }),
    response: stateAt,
    errors: ['run_unknown', 'log_broken', 'run_erased', 'rate_limited'],
    args: ({ path, query }, { caller, signal }) => [path.id, query.at, caller, { signal }],
  }),
  diffRuns: operation({
    method: 'GET',
    path: '/api/v1/runs/{id}/diff/{other}',
    summary: 'Show where two runs part.',
    access: { tenant: 'viewer' },
    pathParams: diffPath,
    response: runDiff,
    errors: ['run_unknown', 'rate_limited'],
    args: ({ path }, { caller, signal }) => [path.id, path.other, caller, { signal }],
  }),
};
