import { z } from 'zod';
import { giveReward, rewardView } from '../../core/tasks/reward.js';
import { STEPS_LIMIT, shownTrajectory, trajectorySummary } from '../../core/trajectories/trajectory.js';
import { trajectoryFilter } from '../../core/trajectories/trajectory-filter.js';
import type { OperationId } from '../auth/scopes.js';
import { idPath, pageOf, pageQuery, sequence } from '../fields.js';
import { guarded, json, NO_INPUT } from '../route.js';

const stepsQuery = z.strictObject({
  after: sequence.default(0).describe('Only steps after this one: `nextStep` of the page before.'),
  limit: z.coerce.number().int().min(1).max(STEPS_LIMIT).default(STEPS_LIMIT),
});

const reward = z
  .string()
  .regex(/^-?\d{1,9}(\.\d{1,9})?$/, 'expected a number, such as 0.5')
  .transform(Number)
  .exactOptional();

/** The record has a place among trajectories, and one at its run. */
export const trajectoryAt = (path: `/${string}`, operationId: OperationId) =>
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path,
    operationId,
    summary: 'Read the record of a run: its steps, result, reward and scores.',
    role: 'viewer',
    pathParams: idPath,
    query: stepsQuery,
    response: shownTrajectory,
    errors: ['run_unknown', 'run_erased', 'rate_limited'],
    handle: async ({ path: { id }, query }, { engine, caller, signal }) =>
      json(await engine.getTrajectory(id, caller, { ...query, signal })),
  });

export const TRAJECTORY_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/trajectories',
    operationId: 'listTrajectories',
    summary: 'List trajectories without their steps, newest first.',
    role: 'viewer',
    query: z.strictObject({ ...trajectoryFilter.shape, minReward: reward, maxReward: reward, ...pageQuery }),
    response: pageOf(trajectorySummary),
    errors: [],
    handle: async ({ query }, { engine, caller }) => json(await engine.listTrajectories(query, caller)),
  }),
  trajectoryAt('/api/v1/trajectories/{id}', 'readTrajectory'),
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/runs/{id}/reward',
    operationId: 'rewardRun',
    summary: 'Say what a run was worth.',
    role: 'operator',
    pathParams: idPath,
    body: giveReward,
    response: rewardView,
    errors: ['run_unknown', 'run_erased'],
    audited: true,
    handle: async ({ path, body }, { engine, caller }) => json(await engine.rewardRun(path.id, body, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/runs/{id}/rewards',
    operationId: 'listRewards',
    summary: 'List what was said of a run, oldest first.',
    role: 'viewer',
    pathParams: idPath,
    query: z.strictObject({ ...pageQuery, cursor: sequence.default(0) }),
    response: pageOf(rewardView),
    errors: ['run_unknown'],
    handle: async ({ path, query: { cursor, limit } }, { engine, caller }) =>
      json(await engine.listRewards(path.id, { after: cursor, limit }, caller)),
  }),
];
