import { Agent } from '@openai/agents';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, type RunView } from '../../src/index.js';
import { ADMIN, openTestEngine, type TestEngine } from '../harness/engine.js';
import { call, scripted } from '../harness/script.js';

/** What docs/replay.md says about instructions, on two agents whose segment is cut off in the middle of a tool call. */

let executions = 0;

/** Never ends in the first execution of a segment, so that the next engine replays it. */
const hang = defineTool({
  ...{ name: 'hang', description: 'Hangs once.', input: z.object({}), output: z.string(), effect: 'pure' },
  execute: () => (executions++ < 2 ? new Promise<never>(() => {}) : 'came back'),
});

const agent = (name: string, instructions: () => string) =>
  defineAgent({
    agent: new Agent({ name, instructions, model: scripted([[call('hang', {})]]), tools: [hang] }),
    grants: ['tool:call:hang'],
  });

let count = 0;
const config = {
  agents: [agent('changing', () => `This is call ${count++}.`), agent('constant', () => 'Always the same.')],
};

let t: TestEngine;
beforeAll(async () => {
  t = await openTestEngine('pglite', config);
});
afterAll(() => t.close());

it('instructions that change, and those that do not, go on after a restart', async () => {
  const start = async (name: string) => (await t.engine.startRun({ agent: name, input: 'go' }, ADMIN)).id;
  const ids = [await start('changing'), await start('constant')];
  for (let tries = 0; executions < 2 && tries < 400; tries++) await new Promise((resolve) => setTimeout(resolve, 25));
  await t.restart();
  const runs: RunView[] = [];
  for (const id of ids) runs.push(await t.engine.getRun(id, ADMIN, { waitMs: 25_000 }));
  expect(runs).toMatchObject([
    { agent: 'changing', status: 'completed', output: 'call_hang=came back' },
    { agent: 'constant', status: 'completed', output: 'call_hang=came back' },
  ]);
}, 90_000);
