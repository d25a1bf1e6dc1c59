import { z } from 'zod';
import type { ErrorCode } from '../errors/errors.js';
import { decisionCheck, interruptionContext, interruptionCounts } from '../interruptions/context.js';
import {
  answerBody,
  approveBody,
  decidedMany,
  decideMany,
  INTERRUPTION_KINDS,
  INTERRUPTION_STATUSES,
  interruptionView,
  listedInterruption,
  rejectBody,
} from '../interruptions/interruption.js';
import { standingDecisionView } from '../interruptions/standing.js';
import { idText, nameText } from '../json.js';
import { idPath, pageOf, pageQuery } from './fields.js';
import { operation } from './operation.js';

const DECISION = {
  calls: 'decide',
  method: 'POST',
  access: { tenant: 'approver' },
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

export const INTERRUPTION_OPERATIONS = {
  listInterruptions: operation({
    method: 'GET',
    path: '/api/v1/interruptions',
    summary: 'List interruptions: the inbox.',
    access: { tenant: 'viewer' },
    query: z.strictObject({
      ...pageQuery,
      status: z.enum(INTERRUPTION_STATUSES).exactOptional(),
      run: idText.exactOptional(),
      agent: nameText.exactOptional().describe('Of the agent that asks, which may be one that the run was handed to.'),
      tool: nameText.exactOptional(),
      kind: z
        .string()
        .max(100)
        .transform((text) => text.split(','))
        .pipe(z.array(z.enum(INTERRUPTION_KINDS)))
        .exactOptional()
        .describe(`One kind, or several with a comma between: ${INTERRUPTION_KINDS.join(', ')}.`),
      expiresBefore: z.iso
        .datetime({ offset: true })
        .exactOptional()
        .describe('Only those that expire before this time. What never expires is left out.'),
      voted: z.literal('me').exactOptional().describe('Only those that the caller has said something about.'),
      order: z
        .enum(['age', 'newest', 'deadline'])
        .default('age')
        .describe(
          '`age`: oldest first. `newest`: newest first. `deadline`: what expires first; what never expires comes last.',
        ),
    }),
    response: pageOf(listedInterruption),
    errors: [],
    args: ({ query: { run, expiresBefore, voted, ...filter } }, { caller }) => {
      const before = expiresBefore === undefined ? {} : { expiresBefore: new Date(expiresBefore) };
      const ofRun = run === undefined ? {} : { runId: run };
      const mine = voted === undefined ? {} : { votedBy: caller.actor };
      return [{ ...filter, ...ofRun, ...mine, ...before }, caller];
    },
  }),
  countInterruptions: operation({
    method: 'GET',
    path: '/api/v1/interruptions/counts',
    summary: 'Count what waits for people, by kind, agent and tool.',
    access: { tenant: 'viewer' },
    response: interruptionCounts,
    errors: [],
    args: (_input, { caller }) => [caller],
  }),
  decideMany: operation({
    method: 'POST',
    path: '/api/v1/interruptions/decide',
    summary: 'Approve or reject several calls, each bound to what was read; each is answered for itself.',
    description:
      'Approvals of calls alone: what may have happened, questions and budgets are decided by themselves, and so are edits.',
    access: { tenant: 'approver' },
    body: decideMany,
    response: decidedMany,
    errors: [],
    audited: true,
    args: ({ body }, { caller, signal }) => [body, caller, { signal }],
  }),
  getInterruption: operation({
    method: 'GET',
    path: '/api/v1/interruptions/{id}',
    summary: 'Read an interruption.',
    access: { tenant: 'viewer' },
    pathParams: idPath,
    response: interruptionView,
    errors: ['interruption_unknown'],
    args: ({ path }, { caller }) => [path.id, caller],
  }),
  getInterruptionContext: operation({
    method: 'GET',
    path: '/api/v1/interruptions/{id}/context',
    summary: 'Read what a person needs to decide: the tool, its checks, the turns before, and earlier decisions.',
    access: { tenant: 'viewer' },
    pathParams: idPath,
    response: interruptionContext,
    errors: ['interruption_unknown'],
    args: ({ path }, { caller }) => [path.id, caller],
  }),
  checkApproval: operation({
    method: 'POST',
    path: '/api/v1/interruptions/{id}/check',
    summary: 'Say whether an approval would be taken, and why not; decides nothing.',
    access: { tenant: 'approver' },
    pathParams: idPath,
    body: approveBody,
    response: decisionCheck,
    errors: ['interruption_unknown', 'value_not_json'],
    args: ({ path, body }, { caller }) => [path.id, body, caller],
  }),
  approve: operation({
    ...DECISION,
    path: '/api/v1/interruptions/{id}/approve',
    summary: 'Approve the call that a run waits for.',
    body: approveBody,
    errors: [
      ...DECISION_ERRORS,
      'plain_approval_only',
      'call_unfit',
      'requester_may_not_approve',
      'capability_denied',
      'capability_invalid',
      'value_not_json',
    ],
    args: ({ path, body }, { caller }) => [path.id, { verdict: 'approve', ...body }, caller],
  }),
  reject: operation({
    ...DECISION,
    path: '/api/v1/interruptions/{id}/reject',
    summary: 'Reject the call that a run waits for; the model reads the message.',
    body: rejectBody,
    errors: DECISION_ERRORS,
    args: ({ path, body }, { caller }) => [path.id, { verdict: 'reject', ...body }, caller],
  }),
  answer: operation({
    ...DECISION,
    path: '/api/v1/interruptions/{id}/answer',
    summary: 'Answer a question of a run.',
    body: answerBody,
    errors: DECISION_ERRORS,
    args: ({ path, body }, { caller }) => [path.id, { verdict: 'answer', ...body }, caller],
  }),
};

export const STANDING_DECISION_OPERATIONS = {
  listStandingDecisions: operation({
    method: 'GET',
    path: '/api/v1/runs/{id}/standing-decisions',
    summary: 'List the standing decisions of a run, which hold for its later calls.',
    access: { tenant: 'viewer' },
    pathParams: idPath,
    query: z.strictObject(pageQuery),
    response: pageOf(standingDecisionView),
    errors: ['run_unknown'],
    args: ({ path, query }, { caller }) => [path.id, query, caller],
  }),
  revokeStandingDecision: operation({
    method: 'DELETE',
    path: '/api/v1/runs/{id}/standing-decisions/{decisionId}',
    summary: 'Revoke a standing decision: from the next segment on, calls ask again.',
    access: { tenant: 'approver' },
    pathParams: idPath.extend({ decisionId: idText }),
    response: standingDecisionView,
    errors: ['run_unknown', 'standing_decision_unknown', 'run_over'],
    audited: true,
    args: ({ path }, { caller }) => [path.id, path.decisionId, caller],
  }),
};
