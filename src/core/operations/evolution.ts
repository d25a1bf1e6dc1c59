import { z } from 'zod';
import {
  agentVersion,
  evolutionView,
  rollbackRequest,
  rolloutRequest,
  VERSION_STATUSES,
} from '../evolution/version.js';
import { nameText } from '../json.js';
import { pageOf, pageQuery } from './fields.js';
import { operation } from './operation.js';

const path = z.strictObject({ name: nameText });

export const EVOLUTION_OPERATIONS = {
  listVersions: operation({
    method: 'GET',
    path: '/api/v1/evolution',
    summary: 'List the versions of all agents that patches made, newest first.',
    access: { tenant: 'viewer' },
    query: z.strictObject({ ...pageQuery, status: z.enum(VERSION_STATUSES).exactOptional() }),
    response: pageOf(agentVersion),
    errors: [],
    args: ({ query }, { caller }) => [query, caller],
  }),
  getEvolution: operation({
    method: 'GET',
    path: '/api/v1/evolution/{name}',
    summary: 'Read the versions of an agent that patches made, and how their runs ended.',
    access: { tenant: 'viewer' },
    pathParams: path,
    response: evolutionView,
    errors: ['agent_unknown'],
    args: ({ path: { name } }, { caller }) => [name, caller],
  }),
  rolloutAgent: operation({
    method: 'POST',
    path: '/api/v1/evolution/{name}/rollout',
    summary: 'Give the live version of an agent to another share of its new runs.',
    access: { tenant: 'approver' },
    pathParams: path,
    body: rolloutRequest,
    response: evolutionView,
    errors: ['agent_unknown', 'agent_version_none', 'requester_may_not_approve'],
    audited: true,
    args: ({ path: { name }, body }, { caller }) => [name, body, caller],
  }),
  rollbackAgent: operation({
    method: 'POST',
    path: '/api/v1/evolution/{name}/rollback',
    summary: 'Take the live version of an agent back, so that new runs have the definition of the configuration.',
    access: { tenant: 'approver' },
    pathParams: path,
    body: rollbackRequest,
    response: evolutionView,
    errors: ['agent_unknown', 'agent_version_none'],
    audited: true,
    args: ({ path: { name }, body }, { caller }) => [name, body, caller],
  }),
};
