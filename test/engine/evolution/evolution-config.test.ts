import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createEngine, definePlan, defineStateMachine, defineTool } from '../../../src/index.js';

const look = defineTool({
  ...{ name: 'look', description: 'Looks.', input: z.object({}), output: z.null(), execute: () => null },
});
const agents = [
  new Agent({ name: 'clerk', model: 'lab/small' }),
  definePlan({
    name: 'steps',
    tools: [look],
    grants: ['tool:call:look'],
    plan: { nodes: { a: { type: 'tool', tool: 'look' } } },
  }),
  defineStateMachine({
    ...{ name: 'turns', states: { only: { data: z.strictObject({}) } }, initial: { name: 'only', data: {} } },
    transition: (state) => ({ state, output: 'done' }),
  }),
];

it.each([
  ['an agent that is not there', { agents: ['clerk', 'clrek'] }, '/evolution/agents/1'],
  ['a state machine', { agents: ['steps', 'turns'] }, '/evolution/agents/1'],
  ['the agent that tries patches', { agents: ['evolve'] }, '/evolution/agents/0'],
  ['a grant that is none', { agents: ['clerk'], trialGrants: ['all'] }, '/evolution/trialGrants'],
])('an engine does not start whose patches would change %s', async (_what, evolution, pointer) => {
  await expect(createEngine({ agents, evolution })).rejects.toMatchObject({
    ...{ code: 'config_invalid', fields: [{ pointer }] },
  });
});
