import { z } from 'zod';
import { nameText } from '../../core/json.js';
import { forkRun, retryRun } from '../../core/replay/fork-request.js';
import { replayReport, replayRequest } from '../../core/replay/replay.js';
import { subjectName } from '../../core/retention/subject-erasure.js';
import { listedRun, type RunView, runStatus, runView, startRun } from '../../core/runs/run.js';
import { idPath, pageOf, pageQuery } from '../fields.js';
import { idempotencyKey } from '../idempotency.js';
import { guarded, json, NO_INPUT, type Reply } from '../route.js';
import { trajectoryAt } from './trajectories.js';

const WAIT_SECONDS_MAX = 60;

/** A run that was made, and where it is. */
const accepted = (run: RunView): Reply => ({
  type: 'json',
  status: 202,
  body: run,
  location: `/api/v1/runs/${encodeURIComponent(run.id)}`,
});

const FORK_ERRORS = [
  ...([
    'run_unknown',
    'run_erased',
    'subject_erasing',
    'fork_invalid',
    'log_broken',
    'row_changed',
    'state_unreadable',
    'agent_unknown',
  ] as const),
  ...(['idempotency_key_reused', 'value_not_json', 'rate_limited'] as const),
];

export const RUN_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/runs',
    operationId: 'startRun',
    summary: 'Start a run.',
    role: 'operator',
    header: z.object({ 'idempotency-key': idempotencyKey.exactOptional() }),
    body: startRun,
    status: 202,
    response: runView,
    errors: [
      'agent_unknown',
      'capability_invalid',
      'grants_widened',
      'idempotency_key_reused',
      'run_erased',
      'value_not_json',
      'session_busy',
      'session_full',
      'subject_erasing',
    ],
    handle: async ({ header, body }, { engine, caller }) =>
      accepted(await engine.startRun(body, caller, header['idempotency-key'])),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/runs',
    operationId: 'listRuns',
    summary: 'List runs, newest first.',
    role: 'viewer',
    query: z.strictObject({
      ...pageQuery,
      status: runStatus.exactOptional(),
      agent: nameText.exactOptional(),
      parent: idPath.shape.id.exactOptional().describe('Only runs that calls of this run started.'),
      subject: subjectName.exactOptional(),
    }),
    response: pageOf(listedRun),
    errors: [],
    handle: async ({ query }, { engine, caller }) => json(await engine.listRuns(query, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/runs/{id}',
    operationId: 'getRun',
    summary: 'Read a run.',
    role: 'viewer',
    pathParams: idPath,
    query: z.strictObject({
      wait: z.coerce
        .number()
        .min(0)
        .max(WAIT_SECONDS_MAX)
        .default(0)
        .describe('Seconds to wait until the run is paused or over.'),
    }),
    response: runView,
    errors: ['run_unknown'],
    handle: async ({ path, query }, { engine, caller, signal }) =>
      json(await engine.getRun(path.id, caller, { waitMs: query.wait * 1000, signal })),
  }),
  trajectoryAt('/api/v1/runs/{id}/trajectory', 'getTrajectory'),
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/runs/{id}/cancel',
    operationId: 'cancelRun',
    summary: 'Ask a run to stop.',
    role: 'operator',
    pathParams: idPath,
    body: z.strictObject({ reason: z.string().min(1).max(8192).optional() }).meta({ id: 'Cancel' }),
    response: runView,
    errors: ['run_unknown', 'run_over'],
    audited: true,
    handle: async ({ path, body }, { engine, caller }) =>
      json(await engine.cancelRun(path.id, body.reason ?? null, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'DELETE',
    path: '/api/v1/runs/{id}',
    operationId: 'deleteRun',
    summary: 'Remove a run that has not begun.',
    role: 'operator',
    pathParams: idPath,
    response: runView,
    errors: ['run_unknown', 'run_begun', 'run_referenced'],
    audited: true,
    handle: async ({ path }, { engine, caller }) => json(await engine.deleteRun(path.id, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/runs/{id}/fork',
    operationId: 'forkRun',
    summary: 'Start a run from an event of another one, with edits.',
    role: 'operator',
    pathParams: idPath,
    header: z.object({ 'idempotency-key': idempotencyKey.exactOptional() }),
    body: forkRun,
    status: 202,
    response: runView,
    errors: [...FORK_ERRORS],
    audited: true,
    handle: async ({ path, header, body }, { engine, caller, signal }) =>
      accepted(await engine.forkRun(path.id, body, caller, header['idempotency-key'], { signal })),
  }),
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/runs/{id}/retry',
    operationId: 'retryRun',
    summary: 'Go on from the last good point of a failed run, in a new run.',
    role: 'operator',
    pathParams: idPath,
    header: z.object({ 'idempotency-key': idempotencyKey.exactOptional() }),
    body: retryRun,
    status: 202,
    response: runView,
    errors: ['run_not_failed', ...FORK_ERRORS],
    audited: true,
    handle: async ({ path, header, body }, { engine, caller, signal }) =>
      accepted(await engine.retryRun(path.id, body, caller, header['idempotency-key'], { signal })),
  }),
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/runs/{id}/replay',
    operationId: 'replayRun',
    summary: 'Hold the agents of today against the log of a run; with `liveModel`, ask their models.',
    role: 'operator',
    pathParams: idPath,
    body: replayRequest,
    response: replayReport,
    errors: ['run_unknown', 'run_erased', 'rate_limited'],
    handle: async ({ path, body }, { engine, caller, signal }) =>
      json(await engine.replayRun(path.id, body, caller, { signal })),
  }),
];
