import { Agent, tool, toolNamespace } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { registerAgents } from '../../../src/engine/agents/agent-registry.js';
import { patchedAgent } from '../../../src/engine/evolution/patched-agent.js';

const named = (name: string) =>
  tool({ name, description: 'Does it.', parameters: z.object({}), execute: () => 'done' });

it('a patch takes the tools away that it names, and no tool of a namespace beside them', () => {
  const crm = toolNamespace({ name: 'crm', description: 'Customers.', tools: [named('look_up'), named('pay')] });
  const agent = new Agent({ name: 'clerk', model: 'openai/x', tools: [...crm, named('pay')] });
  const base = registerAgents({ agents: [{ agent }] }).get('clerk');
  if (base === undefined) throw new Error('no agent');
  const before = (JSON.parse(base.definition) as { tools: { name: string }[] }).tools.map(({ name }) => name);
  expect(before).toEqual(['crm.look_up', 'crm.pay', 'pay']);
  const patched = patchedAgent(base, [{ op: 'remove', path: '/tools/1' }], '2');
  expect([...patched.toolSpecs.keys()]).toEqual(['crm.look_up', 'pay']);
  expect(patched.agent.tools.map(({ name }) => name)).toEqual(['look_up', 'pay']);
});
