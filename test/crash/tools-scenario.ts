import { Agent } from '@openai/agents';
import { defineAgent } from '../../src/index.js';
import { call } from '../harness/script.js';
import { effectTool } from './effect-tool.js';
import { placedModel } from './placed-model.js';
import type { Scenario } from './scenario.js';

/** An agent that takes every way a call can go: pure, idempotent, unsafe, unsafe with a probe, unsafe after an approval. */
const model = placedModel('model', [
  [call('look', { n: 1 }), call('put', { n: 2 })],
  [call('pay', { n: 3 }), call('wire', { n: 5 })],
  [call('transfer', { n: 4 })],
]);

export const tools: Scenario = {
  agent: 'tools',
  config: {
    agents: [
      defineAgent({
        agent: new Agent({
          name: 'tools',
          model,
          tools: [
            effectTool('look', 'pure'),
            effectTool('put', 'idempotent'),
            effectTool('pay', 'unsafe'),
            effectTool('wire', 'unsafe', { probed: true }),
            effectTool('transfer', 'unsafe', { approval: true }),
          ],
        }),
        grants: ['tool:call:*'],
      }),
    ],
  },
  places: [
    ...['model:0', 'look:before', 'look:after', 'put:before', 'put:after'],
    ...['model:1', 'wire:before', 'wire:after', 'pay:before', 'pay:after'],
    ...['model:2', 'transfer:before', 'transfer:after', 'model:3'],
  ],
  exactly: { pay: 1, wire: 1, transfer: 1 },
  repeated: ['look', 'put'],
  statements: 125,
};
