import { Agent } from '@openai/agents';
import { defineAgent } from '../../src/index.js';
import { call } from '../harness/script.js';
import { REVIEWER } from './careful-person.js';
import { effectTool } from './effect-tool.js';
import { place } from './place.js';
import { placedModel } from './placed-model.js';
import type { Scenario } from './scenario.js';

/** Approvals that say more than yes: other arguments, two people, and one that stands for a later call. */
const model = placedModel('model', [
  [call('pay', { n: 3 }), call('sign', { n: 1 })],
  [call('send', { n: 5 })],
  [call('send', { n: 6 }, 'call_again')],
]);

export const decisions: Scenario = {
  agent: 'decisions',
  config: {
    agents: [
      defineAgent({
        agent: new Agent({
          name: 'decisions',
          model,
          tools: [
            effectTool('pay', 'unsafe', { approval: true }),
            effectTool('sign', 'unsafe', { approval: true, approvals: 2 }),
            effectTool('send', 'unsafe', { approval: true }),
          ],
        }),
        grants: ['tool:call:*'],
      }),
    ],
  },
  decide: async (engine, { id, tool, reason }) => {
    if (reason.code === 'unknown_effect' || tool === 'sign') return false;
    const more = tool === 'pay' ? { arguments: { n: 30 } } : ({ always: true } as const);
    place(`${tool}:deciding`);
    await engine.decide(id, { verdict: 'approve', ...more }, REVIEWER);
    place(`${tool}:decided`);
    return true;
  },
  places: [
    ...['model:0', 'pay:deciding', 'pay:decided', 'pay:before', 'pay:after', 'sign:before', 'sign:after', 'model:1'],
    ...['send:deciding', 'send:decided', 'send:before', 'send:after', 'model:2', 'model:3'],
  ],
  around: [
    { when: 'sent', text: 'insert into holdfast.decisions', commit: true },
    { when: 'after', text: 'insert into holdfast.decisions', commit: true },
    { when: 'before', text: 'insert into "holdfast"."standing_decisions"' },
    { when: 'after', text: 'insert into "holdfast"."standing_decisions"', commit: true },
  ],
  exactly: { pay: 1, sign: 1, send: 2 },
  statements: 140,
};
