import { Agent } from '@openai/agents';
import { defineAgent, definePlan, subAgent } from '../../src/index.js';
import { call } from '../harness/script.js';
import { effectTool } from './effect-tool.js';
import { placedModel } from './placed-model.js';
import type { Scenario } from './scenario.js';

/** A plan whose time is over while it waits: what its nodes did is undone, each once, the last first. */
const undo = (tool: string, n: number) => ({ tool, arguments: { n } });
const probed = { probed: true };
const model = placedModel('keeper', [[call('trip', { input: 'go' })]]);

export const overdue: Scenario = {
  agent: 'keeper',
  config: {
    agents: [
      defineAgent({
        agent: new Agent({ name: 'keeper', model, tools: [subAgent({ agent: 'trip', name: 'trip' })] }),
        grants: ['tool:call:trip', { capability: 'tool:call:*', effect: 'allow', delegate: true }, waits(true)],
      }),
      definePlan({
        // Longer than a process takes to come back.
        ...{ name: 'trip', maxElapsedMs: 10_000, grants: ['tool:call:*', waits(false)] },
        tools: [
          effectTool('pay', 'unsafe', probed),
          effectTool('wire', 'unsafe', probed),
          effectTool('refund', 'unsafe', probed),
          effectTool('recall', 'unsafe', probed),
          effectTool('late', 'unsafe'),
        ],
        plan: {
          nodes: {
            pay: { type: 'tool', tool: 'pay', arguments: { n: 1 }, undo: undo('refund', 1) },
            wire: { type: 'tool', tool: 'wire', after: ['pay'], arguments: { n: 2 }, undo: undo('recall', 2) },
            never: { type: 'wait', event: 'never', after: ['wire'] },
            late: { type: 'tool', tool: 'late', after: ['never'], arguments: { n: 3 } },
          },
        },
      }),
    ],
  },
  places: [
    ...['keeper:0', 'pay:before', 'pay:after', 'wire:before', 'wire:after'],
    ...['recall:before', 'recall:after', 'refund:before', 'refund:after', 'keeper:1'],
  ],
  around: [
    { when: 'sent', text: 'insert into holdfast.decisions', commit: true },
    { when: 'after', text: 'insert into holdfast.decisions', commit: true },
  ],
  exactly: { pay: 1, wire: 1, recall: 1, refund: 1, late: 0 },
  reports: (agent) => agent === 'keeper',
  // The time that is left is in the log.
  isRacing: true,
  // Most of them are chores of the time that it waits.
  statements: 700,
};

function waits(delegate: boolean) {
  return { capability: 'event:wait:never', effect: 'allow' as const, delegate };
}
