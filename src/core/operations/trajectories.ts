import { z } from 'zod';
import { giveReward, rewardView } from '../tasks/reward.js';
import { STEPS_LIMIT, shownTrajectory, trajectorySummary } from '../trajectories/trajectory.js';
import { trajectoryFilter } from '../trajectories/trajectory-result.js';
import { idPath, pageOf, pageQuery, position, scoreQuery } from './fields.js';
import { operation } from './operation.js';

const stepsQuery = z.strictObject({
  after: position.default(0).describe('Only steps after this one: `nextStep` of the page before.'),
  limit: z.coerce.number().int().min(1).max(STEPS_LIMIT).default(STEPS_LIMIT),
});

/** The record has a place among trajectories, and one at its run. */
export const trajectoryAt = <Path extends `/${string}`>(path: Path) =>
  operation({
    method: 'GET',
    path,
    calls: 'getTrajectory',
    summary: 'Read the record of a run: its steps, result, reward and scores.',
    access: { tenant: 'viewer' },
    pathParams: idPath,
    query: stepsQuery,
    response: shownTrajectory,
    errors: ['run_unknown', 'run_erased', 'rate_limited'],
    args: ({ path: { id }, query }, { caller, signal }) => [id, caller, { ...query, signal }],
  });

export const TRAJECTORY_OPERATIONS = {
  listTrajectories: operation({
    method: 'GET',
    path: '/api/v1/trajectories',
    summary: 'List trajectories without their steps, newest first.',
    access: { tenant: 'viewer' },
    query: z.strictObject({ ...trajectoryFilter.shape, ...scoreQuery, ...pageQuery }),
    response: pageOf(trajectorySummary),
    errors: [],
    args: ({ query }, { caller }) => [query, caller],
  }),
  readTrajectory: trajectoryAt('/api/v1/trajectories/{id}'),
  rewardRun: operation({
    method: 'POST',
    path: '/api/v1/runs/{id}/reward',
    summary: 'Give a run a reward.',
    access: { tenant: 'operator' },
    pathParams: idPath,
    body: giveReward,
    response: rewardView,
    errors: ['run_unknown', 'run_erased'],
    audited: true,
    args: ({ path, body }, { caller }) => [path.id, body, caller],
  }),
  listRewards: operation({
    method: 'GET',
    path: '/api/v1/runs/{id}/rewards',
    summary: 'List the rewards of a run, oldest first.',
    access: { tenant: 'viewer' },
    pathParams: idPath,
    query: z.strictObject({ ...pageQuery, cursor: position.default(0) }),
    response: pageOf(rewardView),
    errors: ['run_unknown'],
    args: ({ path, query: { cursor, limit } }, { caller }) => [path.id, { after: cursor, limit }, caller],
  }),
};
