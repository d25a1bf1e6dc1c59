import { Agent, tool } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import {
  createEngine,
  defineAgent,
  definePlan,
  defineStateMachine,
  defineTool,
  miniSweScaffold,
} from '../../../src/index.js';

const looking = { name: 'look', description: 'Looks.', input: z.object({}), output: z.null(), execute: () => null };
const look = defineTool(looking);
const newer = defineTool({ ...looking, version: '2' });
const clerks = { agents: ['clerk'] };
const scaffold = (name: string, version: string) => ({ name, version, tools: () => [defineTool(finishing)] });
const finishing = { ...looking, name: 'finish' };
const agents = [
  new Agent({ name: 'clerk', model: 'lab/small', tools: [look] }),
  defineAgent({ agent: new Agent({ name: 'coder', model: 'lab/small' }), scaffold: scaffold('own', '1') }),
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
  ['an agent that is named twice', { agents: ['clerk', 'clerk'] }, '/evolution/agents'],
  ['a state machine', { agents: ['steps', 'turns'] }, '/evolution/agents/1'],
  ['the agent that tries patches', { agents: ['evolve'] }, '/evolution/agents/0'],
  ['a grant that is none', { agents: ['clerk'], trialGrants: ['all'] }, '/evolution/trialGrants'],
  [
    'a tool of the SDK',
    { ...clerks, tools: [newer, tool({ ...looking, parameters: z.object({}) })] },
    '/evolution/tools/1',
  ],
  ['a tool to the version that it has', { ...clerks, tools: [look] }, '/evolution/tools/0'],
  ['a tool to one version twice', { ...clerks, tools: [newer, newer] }, '/evolution/tools/1'],
  ['a tool that no agent has', { ...clerks, tools: [defineTool(finishing)] }, '/evolution/tools/0'],
  ['a scaffold where there is none', { ...clerks, scaffolds: [scaffold('own', '2')] }, '/evolution/scaffolds/0'],
  [
    'a scaffold to the one that it has',
    { agents: ['coder'], scaffolds: [scaffold('own', '1')] },
    '/evolution/scaffolds/0',
  ],
  ['a scaffold that needs more', { agents: ['coder'], scaffolds: [miniSweScaffold()] }, '/evolution/scaffolds/0'],
  ['a scaffold to what is none', { agents: ['coder'], scaffolds: [{ name: 'x' }] }, '/evolution/scaffolds/0'],
  ['a field that nothing reads', { ...clerks, tool: [newer] }, '/evolution/tool'],
])('an engine does not start whose patches would change %s', async (_what, evolution, pointer) => {
  await expect(createEngine({ agents, evolution: evolution as never })).rejects.toMatchObject({
    ...{ code: 'config_invalid', fields: [{ pointer }] },
  });
});
