import { Agent } from '@openai/agents';
import { defineAgent, definePlan } from '../../src/index.js';
import { call } from '../harness/script.js';
import { effectTool } from './effect-tool.js';
import { placedModel } from './placed-model.js';
import type { Scenario } from './scenario.js';

/** A plan whose nodes go every way a call can go: at once, after an approval, as a run of an agent, and after a wait. */
const model = placedModel('writer', [[call('look', { n: 7 })]]);

const tools = [
  effectTool('put', 'idempotent'),
  effectTool('pay', 'unsafe'),
  effectTool('wire', 'unsafe', { probed: true }),
  effectTool('transfer', 'unsafe', { approval: true }),
];

export const plans: Scenario = {
  agent: 'plan',
  config: {
    agents: [
      defineAgent({
        agent: new Agent({ name: 'writer', model, tools: [effectTool('look', 'pure')] }),
        grants: ['tool:call:look'],
      }),
      definePlan({
        ...{ name: 'plan', tools },
        grants: ['tool:call:*', { capability: 'tool:call:look', effect: 'allow', delegate: true }, 'time:sleep:timer'],
        plan: {
          nodes: {
            put: { type: 'tool', tool: 'put', arguments: { n: 1 } },
            pay: { type: 'tool', tool: 'pay', arguments: { n: 2 } },
            text: { type: 'agent', agent: 'writer', input: { $from: '/nodes/pay/done' } },
            wire: { type: 'tool', tool: 'wire', after: ['text'], arguments: { n: 3 } },
            // Beside another node the timer would end now before it, now after it: no two logs would be the same.
            wait: { type: 'wait', seconds: 0.2, after: ['wire'] },
            transfer: { type: 'tool', tool: 'transfer', after: ['wait'], arguments: { n: 4 } },
          },
        },
      }),
    ],
  },
  places: [
    ...['put:before', 'put:after', 'pay:before', 'pay:after', 'writer:0', 'look:before', 'look:after', 'writer:1'],
    ...['wire:before', 'wire:after', 'transfer:before', 'transfer:after'],
  ],
  exactly: { pay: 1, wire: 1, transfer: 1 },
  repeated: ['put', 'look'],
  statements: 260,
};
