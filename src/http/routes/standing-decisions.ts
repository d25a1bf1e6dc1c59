import { z } from 'zod';
import { standingDecisionView } from '../../core/interruptions/standing.js';
import { idPath, pageOf, pageQuery } from '../fields.js';
import { guarded, json, NO_INPUT } from '../route.js';

export const STANDING_DECISION_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/runs/{id}/standing-decisions',
    operationId: 'listStandingDecisions',
    summary: 'List the decisions that hold for later calls of a run.',
    role: 'viewer',
    pathParams: idPath,
    query: z.strictObject(pageQuery),
    response: pageOf(standingDecisionView),
    errors: ['run_unknown'],
    handle: async ({ path, query }, { engine, caller }) =>
      json(await engine.listStandingDecisions(path.id, query, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'DELETE',
    path: '/api/v1/runs/{id}/standing-decisions/{decisionId}',
    operationId: 'revokeStandingDecision',
    summary: 'Revoke such a decision: from the next segment on, calls ask again.',
    role: 'approver',
    pathParams: idPath.extend({ decisionId: idPath.shape.id }),
    response: standingDecisionView,
    errors: ['run_unknown', 'standing_decision_unknown', 'run_over'],
    audited: true,
    handle: async ({ path }, { engine, caller }) =>
      json(await engine.revokeStandingDecision(path.id, path.decisionId, caller)),
  }),
];
