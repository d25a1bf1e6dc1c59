import { Agent } from '@openai/agents';
import { defineAgent, planProposals } from '../../src/index.js';
import { call } from '../harness/script.js';
import { effectTool } from './effect-tool.js';
import { placedModel } from './placed-model.js';
import type { Scenario } from './scenario.js';

/** An agent that proposes a plan, which people approve: its run is begun once, and its calls are not asked for again. */
const tools = [effectTool('put', 'idempotent'), effectTool('pay', 'unsafe', { approval: true, probed: true })];
const { tool, runner } = planProposals({ name: 'runner', tools, grants: ['tool:call:*'], approvals: 2 });

const plan = JSON.stringify({
  nodes: {
    put: { type: 'tool', tool: 'put', arguments: { n: 1 } },
    pay: { type: 'tool', tool: 'pay', after: ['put'], arguments: { n: 2 } },
  },
});

export const proposals: Scenario = {
  agent: 'planner',
  config: {
    agents: [
      runner,
      defineAgent({
        agent: new Agent({
          ...{ name: 'planner', tools: [tool] },
          model: placedModel('planner', [[call('propose_plan', { plan }, 'c1')]]),
        }),
        grants: ['tool:call:propose_plan', { capability: 'tool:call:*', effect: 'allow', delegate: true }],
      }),
    ],
  },
  places: ['planner:0', 'put:before', 'put:after', 'pay:before', 'pay:after', 'planner:1'],
  exactly: { pay: 1 },
  repeated: ['put'],
  statements: 120,
  check: async (knex) => {
    const asked: { tool: string }[] = await knex('holdfast.interruptions').where({ kind: 'approval' }).select('tool');
    const tools = asked.map((one) => one.tool);
    if (tools.join() !== 'propose_plan') throw new Error(`people were asked for ${tools.join()}`);
  },
};
