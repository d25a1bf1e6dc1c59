import { z } from 'zod';
import { OBJECT_STORE_CODES } from '../../core/errors/object-store-errors.js';
import { anchoredReport } from '../../core/evidence/log-view.js';
import { nameText } from '../../core/json.js';
import { repairReport, repairRequest } from '../../core/log/repair.js';
import { stateAt } from '../../core/log/state-at.js';
import { verifyRange } from '../../core/log/verify-log.js';
import { runDiff } from '../../core/replay/run-diff.js';
import { runStatus } from '../../core/runs/run.js';
import { idPath, pageOf, pageQuery } from '../fields.js';
import { guarded, json, NO_INPUT } from '../route.js';

const diffPath = idPath.extend({ other: idPath.shape.id });

export const EVIDENCE_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/runs/{id}/verify',
    operationId: 'verifyRun',
    summary: 'Verify the event log of a run, or a range of it.',
    role: 'viewer',
    pathParams: idPath,
    body: verifyRange,
    response: anchoredReport,
    errors: ['run_unknown', 'rate_limited', ...OBJECT_STORE_CODES],
    handle: async ({ path, body }, { engine, caller, signal }) =>
      json(await engine.verifyRun(path.id, caller, body, { signal })),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/verify',
    operationId: 'verifyRuns',
    summary: 'Verify the event logs of all runs, newest first, a page at a time.',
    role: 'viewer',
    query: z.strictObject({ ...pageQuery, status: runStatus.exactOptional(), agent: nameText.exactOptional() }),
    response: pageOf(anchoredReport),
    errors: ['rate_limited', ...OBJECT_STORE_CODES],
    handle: async ({ query }, { engine, caller, signal }) => json(await engine.verifyRuns(query, caller, { signal })),
  }),
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/runs/{id}/repair',
    operationId: 'repairRun',
    summary: 'Say what a broken log has lost, and go on from its last whole event in a new run.',
    role: 'admin',
    pathParams: idPath,
    body: repairRequest,
    response: repairReport,
    errors: [
      ...(['run_unknown', 'run_erased', 'run_not_over', 'log_whole', 'log_lost'] as const),
      ...(['repair_repeats', 'agent_unknown', 'rate_limited'] as const),
    ],
    audited: true,
    handle: async ({ path, body }, { engine, caller, signal }) =>
      json(await engine.repairRun(path.id, body, caller, { signal })),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/runs/{id}/state',
    operationId: 'stateAt',
    summary: 'Read the state that the log of a run folds to, after any of its events.',
    role: 'viewer',
    pathParams: idPath,
    query: z.strictObject({
      at: z.coerce.number().int().min(1).exactOptional().describe('Number of the event. Without: the last.'),
    }),
    response: stateAt,
    errors: ['run_unknown', 'log_broken', 'state_unreadable', 'rate_limited'],
    handle: async ({ path, query }, { engine, caller, signal }) =>
      json(await engine.stateAt(path.id, query.at, caller, { signal })),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/runs/{id}/diff/{other}',
    operationId: 'diffRuns',
    summary: 'Show where two runs part.',
    role: 'viewer',
    pathParams: diffPath,
    response: runDiff,
    errors: ['run_unknown', 'rate_limited'],
    handle: async ({ path }, { engine, caller, signal }) =>
      json(await engine.diffRuns(path.id, path.other, caller, { signal })),
  }),
];
