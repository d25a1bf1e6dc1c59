import { Agent, handoff, tool } from '@openai/agents';
import { z } from 'zod';
import { defineAgent } from '../../src/index.js';
import { call } from '../harness/script.js';
import { effectTool } from './effect-tool.js';
import { place } from './place.js';
import { placedModel } from './placed-model.js';
import type { Scenario } from './scenario.js';

/**
 * Agents that work together: guardrails, an agent as a tool whose own call is approved, a handoff with a callback, and
 * callbacks that steer. Each may die in the middle.
 */
const clerk = new Agent({
  name: 'clerk',
  instructions: () => {
    place('clerk:instructions');
    return 'You transfer.';
  },
  tools: [effectTool('transfer', 'unsafe', { approval: true }), effectTool('look', 'pure')],
  model: placedModel('clerk', [[call('look', { n: 1 }), call('transfer', { n: 4 })]]),
});

const note = tool({
  name: 'note',
  description: 'Notes.',
  parameters: z.object({}),
  isEnabled: () => {
    place('note:enabled');
    return true;
  },
  execute: async () => 'noted',
  outputGuardrails: [
    {
      name: 'short',
      run: async () => {
        place('note:guardrail');
        return { behavior: { type: 'allow' } };
      },
    },
  ],
});

const end = new Agent({
  name: 'end',
  tools: [effectTool('pay', 'unsafe')],
  model: placedModel('end', [[call('pay', { n: 3 })]], 3),
  toolUseBehavior: () => {
    place('end:tool-use');
    return { isFinalOutput: false, isInterrupted: undefined };
  },
  outputGuardrails: [
    {
      name: 'fine',
      execute: async () => {
        place('end:guardrail');
        return { tripwireTriggered: false, outputInfo: null };
      },
    },
  ],
});

const front = new Agent({
  name: 'front',
  inputGuardrails: [
    {
      name: 'fine',
      execute: async () => {
        place('front:guardrail');
        return { tripwireTriggered: false, outputInfo: null };
      },
    },
  ],
  tools: [clerk.asTool({ toolName: 'ask_clerk', toolDescription: 'Asks the clerk.' }), note],
  handoffs: [handoff(end, { toolNameOverride: 'go_on', onHandoff: () => place('front:handoff') })],
  model: placedModel('front', [[call('ask_clerk', { input: 'go' }), call('note', {})], [call('go_on', {})]]),
});

export const agents: Scenario = {
  agent: 'front',
  config: { agents: [defineAgent({ agent: front, grants: ['tool:call:*'] })] },
  places: [
    ...['front:guardrail', 'note:enabled', 'front:0', 'note:guardrail', 'clerk:instructions', 'clerk:0'],
    ...['look:before', 'look:after', 'transfer:before', 'transfer:after', 'clerk:1', 'front:1', 'front:handoff'],
    ...['end:0', 'pay:before', 'pay:after', 'end:tool-use', 'end:1', 'end:guardrail'],
  ],
  exactly: { transfer: 1, pay: 1 },
  repeated: ['look'],
  statements: 130,
};
