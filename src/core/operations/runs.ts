import { z } from 'zod';
import { sessionId } from '../agents/session.js';
import type { ErrorCode } from '../errors/errors.js';
import { INTERRUPTION_KINDS } from '../interruptions/interruption.js';
import { RUN_ORDERS, runRow, searchText } from '../interruptions/run-rows.js';
import { idText, nameText } from '../json.js';
import { readRun } from '../queue/queue-wait.js';
import { forkRun, retryRun } from '../replay/fork.js';
import { replayReport, replayRequest } from '../replay/replay.js';
import { subjectName } from '../retention/erasure.js';
import { listedRun, runStatus, runView, startRun } from '../runs/run.js';
import { bulkRequest, bulkResult, runCounts, runFamily } from '../runs/run-counts.js';
import { idPath, optionalKey, pageOf, pageQuery } from './fields.js';
import { operation } from './operation.js';
import { trajectoryAt } from './trajectories.js';

const WAIT_SECONDS_MAX = 60;

const FORK_ERRORS: readonly ErrorCode[] = [
  'run_unknown',
  'run_erased',
  'subject_erasing',
  'fork_invalid',
  'log_broken',
  'row_changed',
  'state_unreadable',
  'agent_unknown',
  'idempotency_key_reused',
  'value_not_json',
  'rate_limited',
];

const time = z.iso.datetime({ offset: true });

/** What narrows a list of runs. */
const RUN_FILTER = {
  status: runStatus.exactOptional(),
  agent: nameText.exactOptional(),
  parent: idText.exactOptional().describe('Only runs that calls of this run started.'),
  subject: subjectName.exactOptional(),
  session: sessionId.exactOptional(),
  error: z
    .string()
    .regex(/^[a-z_]{1,60}$/, 'expected a code of docs/errors.md')
    .exactOptional()
    .describe('Only runs that failed with this code.'),
  from: time.exactOptional().describe('Only runs that were made at this time or later.'),
  to: time.exactOptional().describe('Only runs that were made before this time.'),
  tag: nameText.max(100).exactOptional().describe('Only runs with this tag in their metadata.'),
  task: idText.exactOptional().describe('Only the attempts of this task.'),
  model: nameText.exactOptional().describe('Only runs that have asked this model.'),
  waiting: z
    .enum(INTERRUPTION_KINDS)
    .exactOptional()
    .describe('Only paused runs that wait for this kind of interruption.'),
};

type Asked = z.output<z.ZodObject<typeof RUN_FILTER>>;

function runFilterIn({ from, to, ...filter }: Asked) {
  return {
    ...filter,
    ...(from === undefined ? {} : { from: new Date(from) }),
    ...(to === undefined ? {} : { to: new Date(to) }),
  };
}

export const RUN_OPERATIONS = {
  startRun: operation({
    method: 'POST',
    path: '/api/v1/runs',
    summary: 'Start a run.',
    access: { tenant: 'operator' },
    header: optionalKey,
    body: startRun,
    status: 202,
    response: runView,
    errors: [
      'agent_unknown',
      'capability_invalid',
      'grants_widened',
      'plan_not_granted',
      'idempotency_key_reused',
      'run_erased',
      'value_not_json',
      'session_busy',
      'session_full',
      'subject_erasing',
    ],
    location: '/api/v1/runs/{id}',
    args: ({ header, body }, { caller }) => [body, caller, header['idempotency-key']],
  }),
  listRuns: operation({
    method: 'GET',
    path: '/api/v1/runs',
    summary: 'List runs, newest first.',
    access: { tenant: 'viewer' },
    query: z.strictObject({ ...pageQuery, ...RUN_FILTER }),
    response: pageOf(listedRun),
    errors: [],
    args: ({ query: { limit, cursor, ...filter } }, { caller }) => [
      { limit, ...(cursor === undefined ? {} : { cursor }), ...runFilterIn(filter) },
      caller,
    ],
  }),
  searchRuns: operation({
    method: 'GET',
    path: '/api/v1/runs/rows',
    summary: 'List runs in short, newest first, by cost or by duration, also by a text.',
    description:
      'A search by text looks at the first 10,000 runs that fit the rest; `nextCursor` goes on behind them, also after a page without an item.',
    access: { tenant: 'viewer' },
    query: z.strictObject({
      ...pageQuery,
      ...RUN_FILTER,
      q: searchText.exactOptional(),
      order: z
        .enum(RUN_ORDERS)
        .default('newest')
        .describe('`cost`: runs that cost something, the dearest first. `duration`: ended runs, the longest first.'),
    }),
    response: pageOf(runRow),
    errors: [],
    args: ({ query: { limit, cursor, q, order, ...filter } }, { caller }) => [
      {
        ...{ limit, order },
        ...(cursor === undefined ? {} : { cursor }),
        ...(q === undefined ? {} : { text: q }),
        ...runFilterIn(filter),
      },
      caller,
    ],
  }),
  countRuns: operation({
    method: 'GET',
    path: '/api/v1/runs/counts',
    summary: 'Count runs by status, by error and by hour.',
    access: { tenant: 'viewer' },
    query: z.strictObject(RUN_FILTER),
    response: runCounts,
    errors: [],
    args: ({ query }, { caller }) => [runFilterIn(query), caller],
  }),
  bulkRuns: operation({
    method: 'POST',
    path: '/api/v1/runs/bulk',
    summary: 'Cancel runs, or try them again, up to 100 in a request; each is answered for itself.',
    access: { tenant: 'operator' },
    header: optionalKey,
    body: bulkRequest,
    response: bulkResult,
    errors: ['rate_limited'],
    audited: true,
    args: ({ header, body }, { caller, signal }) => [body, caller, header['idempotency-key'], { signal }],
  }),
  getRun: operation({
    method: 'GET',
    path: '/api/v1/runs/{id}',
    summary: 'Read a run.',
    access: { tenant: 'viewer' },
    pathParams: idPath,
    query: z.strictObject({
      wait: z.coerce
        .number()
        .min(0)
        .max(WAIT_SECONDS_MAX)
        .default(0)
        .describe('Seconds to wait until the run is paused or over.'),
    }),
    response: readRun,
    errors: ['run_unknown'],
    args: ({ path, query }, { caller, signal }) => [path.id, caller, { waitMs: query.wait * 1000, signal }],
  }),
  getFamily: operation({
    method: 'GET',
    path: '/api/v1/runs/{id}/family',
    summary: 'List the runs above and below a run, and forks of any of them.',
    access: { tenant: 'viewer' },
    pathParams: idPath,
    response: runFamily,
    errors: ['run_unknown'],
    args: ({ path }, { caller }) => [path.id, caller],
  }),
  getTrajectory: trajectoryAt('/api/v1/runs/{id}/trajectory'),
  cancelRun: operation({
    method: 'POST',
    path: '/api/v1/runs/{id}/cancel',
    summary: 'Ask a run to stop.',
    access: { tenant: 'operator' },
    pathParams: idPath,
    body: z.strictObject({ reason: z.string().min(1).max(8192).optional() }).meta({ id: 'Cancel' }),
    response: runView,
    errors: ['run_unknown', 'run_over'],
    audited: true,
    args: ({ path, body }, { caller }) => [path.id, body.reason ?? null, caller],
  }),
  deleteRun: operation({
    method: 'DELETE',
    path: '/api/v1/runs/{id}',
    summary: 'Remove a run that has not begun.',
    access: { tenant: 'operator' },
    pathParams: idPath,
    response: runView,
    errors: ['run_unknown', 'run_begun', 'run_referenced'],
    audited: true,
    args: ({ path }, { caller }) => [path.id, caller],
  }),
  forkRun: operation({
    method: 'POST',
    path: '/api/v1/runs/{id}/fork',
    summary: 'Start a run from an event of another one, with edits.',
    access: { tenant: 'operator' },
    pathParams: idPath,
    header: optionalKey,
    body: forkRun,
    status: 202,
    response: runView,
    errors: FORK_ERRORS,
    audited: true,
    location: '/api/v1/runs/{id}',
    args: ({ path, header, body }, { caller, signal }) => [
      path.id,
      body,
      caller,
      header['idempotency-key'],
      { signal },
    ],
  }),
  retryRun: operation({
    method: 'POST',
    path: '/api/v1/runs/{id}/retry',
    summary: 'Go on from the last good point of a failed run, in a new run.',
    access: { tenant: 'operator' },
    pathParams: idPath,
    header: optionalKey,
    body: retryRun,
    status: 202,
    response: runView,
    errors: ['run_not_failed', ...FORK_ERRORS],
    audited: true,
    location: '/api/v1/runs/{id}',
    args: ({ path, header, body }, { caller, signal }) => [
      path.id,
      body,
      caller,
      header['idempotency-key'],
      { signal },
    ],
  }),
  replayRun: operation({
    method: 'POST',
    path: '/api/v1/runs/{id}/replay',
    summary: 'Hold the agents of today against the log of a run; with `liveModel`, ask their models.',
    access: { tenant: 'operator' },
    pathParams: idPath,
    body: replayRequest,
    response: replayReport,
    errors: ['run_unknown', 'run_erased', 'rate_limited'],
    args: ({ path, body }, { caller, signal }) => [path.id, body, caller, { signal }],
  }),
};
