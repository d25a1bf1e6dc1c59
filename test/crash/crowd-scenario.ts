import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from '@openai/agents';
import { defineAgent, functionModel, subAgent } from '../../src/index.js';
import { call } from '../harness/script.js';
import { effectTool } from './effect-tool.js';
import type { KillAt } from './place.js';
import { placedModel } from './placed-model.js';
import type { Scenario } from './scenario.js';

const CROWD = 6;

/** Runs that are at work at once, so that their steps leave in one statement: each looks, pays, and looks again. */
const lead = new Agent({
  name: 'lead',
  model: placedModel('lead', [Array.from({ length: CROWD }, () => call('clerk', { input: 'pay' }))]),
  tools: [subAgent({ agent: 'clerk', onFailure: 'fail' })],
});

let came = 0;
let allCame = (): void => undefined;
const gathered = new Promise<void>((resolve) => {
  allCame = resolve;
});

/** In a process that goes on where another died, not all have to come. */
const PATIENCE_MS = 3000;

/** They are asked at once, so that from then on their steps become ready together. */
async function meet(): Promise<void> {
  if (++came === CROWD) allCame();
  await Promise.race([gathered, sleep(PATIENCE_MS)]);
}

const alone = placedModel('clerk', [[call('look', { n: 1 })], [call('pay', { n: 2 })], [call('look', { n: 3 })]]);
const model = functionModel('clerk', async (request) => {
  await meet();
  return alone.getResponse(request);
});

const clerk = new Agent({
  name: 'clerk',
  model,
  tools: [effectTool('look', 'idempotent', { perRun: true }), effectTool('pay', 'unsafe', { perRun: true })],
});

const delegated = ['look', 'pay'].map((name) => ({
  ...{ capability: `tool:call:${name}`, effect: 'allow' as const, delegate: true },
}));

const WHEN: readonly KillAt['when'][] = ['before', 'sent', 'after'];

export const crowd: Scenario = {
  agent: 'lead',
  config: {
    agents: [
      defineAgent({ agent: lead, grants: ['tool:call:clerk', ...delegated] }),
      defineAgent({ agent: clerk, grants: delegated }),
    ],
  },
  places: ['lead:0', 'clerk:0', 'look:before', 'look:after', 'clerk:1', 'pay:before', 'pay:after', 'clerk:3', 'lead:1'],
  exactly: { pay: CROWD },
  repeated: ['look'],
  isRacing: true,
  statements: 400,
  around: WHEN.map((when) => ({ when, text: 'select n, workflow_id' })),
};
