import { Agent } from '@openai/agents';
import { defineAgent, subAgent } from '../../src/index.js';
import { call } from '../harness/script.js';
import { effectTool } from './effect-tool.js';
import { placedModel } from './placed-model.js';
import type { Scenario } from './scenario.js';

/** Three runs, one below the other: the middle one pays before and after an approval, the lowest only looks. */
const lead = new Agent({
  name: 'lead',
  model: placedModel('lead', [[call('clerk', { input: 'pay them' }), call('note', { n: 1 })]]),
  tools: [effectTool('note', 'idempotent'), subAgent({ agent: 'clerk', onFailure: 'fail' })],
});

const clerk = new Agent({
  name: 'clerk',
  model: placedModel('clerk', [[call('pay', { n: 2 }), call('check', { input: 'it' })], [call('transfer', { n: 3 })]]),
  tools: [
    ...[effectTool('pay', 'unsafe'), effectTool('transfer', 'unsafe', { approval: true })],
    subAgent({ agent: 'checker', name: 'check' }),
  ],
});

const checker = new Agent({
  name: 'checker',
  model: placedModel('checker', [[call('look', { n: 4 })]]),
  tools: [effectTool('look', 'idempotent')],
});

const delegated = ['note', 'pay', 'transfer', 'look', 'check'].map((name) => ({
  ...{ capability: `tool:call:${name}`, effect: 'allow' as const, delegate: true },
}));

export const family: Scenario = {
  agent: 'lead',
  config: {
    agents: [
      defineAgent({ agent: lead, grants: ['tool:call:clerk', ...delegated] }),
      defineAgent({ agent: clerk, grants: delegated }),
      defineAgent({ agent: checker, grants: delegated }),
    ],
  },
  places: [
    ...['lead:0', 'note:before', 'note:after', 'clerk:0', 'pay:before', 'pay:after', 'checker:0'],
    ...['look:before', 'look:after', 'checker:1', 'clerk:1', 'transfer:before', 'transfer:after', 'clerk:2', 'lead:1'],
  ],
  exactly: { pay: 1, transfer: 1 },
  repeated: ['note', 'look'],
  statements: 230,
};
