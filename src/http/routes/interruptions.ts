import { z } from 'zod';
import type { ErrorCode } from '../../core/errors/errors.js';
import {
  answerBody,
  approveBody,
  INTERRUPTION_KINDS,
  INTERRUPTION_STATUSES,
  interruptionView,
  listedInterruption,
  rejectBody,
} from '../../core/interruptions/interruption.js';
import { nameText } from '../../core/json.js';
import { idPath, pageOf, pageQuery } from '../fields.js';
import { guarded, json, NO_INPUT } from '../route.js';

const DECISION = {
  ...NO_INPUT,
  method: 'POST',
  role: 'approver',
  pathParams: idPath,
  response: interruptionView,
  audited: true,
} as const;

const DECISION_ERRORS: readonly ErrorCode[] = [
  'interruption_unknown',
  'decision_conflict',
  'interruption_expired',
  'interruption_cancelled',
  'verdict_not_allowed',
  'digest_mismatch',
  'run_erased',
];

export const INTERRUPTION_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/interruptions',
    operationId: 'listInterruptions',
    summary: 'List interruptions: the inbox.',
    role: 'viewer',
    query: z.strictObject({
      ...pageQuery,
      status: z.enum(INTERRUPTION_STATUSES).exactOptional(),
      run: idPath.shape.id.exactOptional(),
      agent: nameText.exactOptional().describe('Of the agent that asks, which may be one that the run was handed to.'),
      tool: nameText.exactOptional(),
      kind: z.enum(INTERRUPTION_KINDS).exactOptional(),
      expiresBefore: z.iso
        .datetime({ offset: true })
        .exactOptional()
        .describe('Only those that expire before this time. What never expires is left out.'),
    }),
    response: pageOf(listedInterruption),
    errors: [],
    handle: async ({ query: { run, expiresBefore, ...filter } }, { engine, caller }) => {
      const before = expiresBefore === undefined ? {} : { expiresBefore: new Date(expiresBefore) };
      const ofRun = run === undefined ? {} : { runId: run };
      return json(await engine.listInterruptions({ ...filter, ...ofRun, ...before }, caller));
    },
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/interruptions/{id}',
    operationId: 'getInterruption',
    summary: 'Read an interruption.',
    role: 'viewer',
    pathParams: idPath,
    response: interruptionView,
    errors: ['interruption_unknown'],
    handle: async ({ path }, { engine, caller }) => json(await engine.getInterruption(path.id, caller)),
  }),
  guarded({
    ...DECISION,
    path: '/api/v1/interruptions/{id}/approve',
    operationId: 'approve',
    summary: 'Approve what a run waits for.',
    body: approveBody,
    errors: [
      ...DECISION_ERRORS,
      ...([
        'plain_approval_only',
        'call_unfit',
        'requester_may_not_approve',
        'capability_denied',
        'capability_invalid',
        'value_not_json',
      ] as const),
    ],
    handle: async ({ path, body }, { engine, caller }) =>
      json(await engine.decide(path.id, { verdict: 'approve', ...body }, caller)),
  }),
  guarded({
    ...DECISION,
    path: '/api/v1/interruptions/{id}/reject',
    operationId: 'reject',
    summary: 'Reject what a run waits for; the model reads the message.',
    body: rejectBody,
    errors: DECISION_ERRORS,
    handle: async ({ path, body }, { engine, caller }) =>
      json(await engine.decide(path.id, { verdict: 'reject', ...body }, caller)),
  }),
  guarded({
    ...DECISION,
    path: '/api/v1/interruptions/{id}/answer',
    operationId: 'answer',
    summary: 'Answer a question of a run.',
    body: answerBody,
    errors: DECISION_ERRORS,
    handle: async ({ path, body }, { engine, caller }) =>
      json(await engine.decide(path.id, { verdict: 'answer', ...body }, caller)),
  }),
];
