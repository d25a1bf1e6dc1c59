import { Agent, handoff, Runner, tool, toolNamespace } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { registerAgents } from '../../../src/engine/agents/agent-registry.js';
import { patchedAgent } from '../../../src/engine/evolution/patched-agent.js';
import { functionModel } from '../../../src/models/providers/function-model.js';
import { reachableAgents } from '../../../src/tools/define/reachable-agents.js';
import { call, say } from '../../harness/script.js';

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

it.each([
  ['an agent', (to: Agent) => to],
  ['a handoff', (to: Agent) => handoff(to)],
])('who hands back to a patched agent hands back to the patched one, by %s', async (_by, to) => {
  const asked: { readonly instructions: string | undefined; readonly tools: readonly string[] }[] = [];
  const model = functionModel('any', ({ systemInstructions, tools, input }) => {
    asked.push({ instructions: systemInstructions, tools: tools.map(({ name }) => name) });
    const handed = Array.isArray(input) ? input.filter(({ type }) => type === 'function_call_result').length : 0;
    const next = ['transfer_to_second', 'transfer_to_third', 'transfer_to_clerk'][handed];
    return [next === undefined ? say('done') : call(next, {}, `call_${handed}`)];
  });
  const third = new Agent({ name: 'third', instructions: 'third', model });
  const second = new Agent({ name: 'second', instructions: 'second', model, handoffs: [to(third)] });
  const beside = new Agent({ name: 'beside', model });
  const clerk = new Agent({
    ...{ name: 'clerk', instructions: 'old', model, tools: [named('look_up'), named('pay')] },
    handoffs: [to(second), to(beside)],
  });
  third.handoffs = [to(clerk)];
  const base = registerAgents({ agents: [{ agent: clerk }] }).get('clerk');
  if (base === undefined) throw new Error('no agent');
  const change = [
    { op: 'replace' as const, path: '/instructions', value: 'new' },
    { op: 'remove' as const, path: '/tools/1' },
  ];
  const { agent } = patchedAgent(base, change, '2');
  const { finalOutput } = await new Runner({ tracingDisabled: true }).run(agent, 'Go.');
  expect(finalOutput).toBe('done');
  const patched = { instructions: 'new', tools: ['look_up'] };
  expect(asked).toEqual([
    patched,
    { instructions: 'second', tools: [] },
    { instructions: 'third', tools: [] },
    patched,
  ]);
  expect(reachableAgents(agent).map(({ name }) => name)).toEqual(['clerk', 'second', 'beside', 'third']);
  // What leads nowhere back is shared, and the agents of the configuration are as they were.
  expect(reachableAgents(agent)).toContain(beside);
  expect(reachableAgents(clerk)).toEqual([clerk, second, beside, third]);
  expect(clerk.tools).toHaveLength(2);
});
