import { Agent, Usage } from '@openai/agents';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { replayText } from '../../src/cli/commands/runs/replay.js';
import { LIVE_STOPS } from '../../src/core/replay/live-replay.js';
import { defineAgent, defineTool, type EngineConfig, functionModel } from '../../src/index.js';
import { ADMIN, openTestEngine, runToRest, type TestEngine } from '../harness/engine.js';
import { call, type Output, outputAfter, say } from '../harness/script.js';
import { names, pageText } from './pages.js';

/** The pages on replays show what the command prints. */

const strictly = pageText('docs/replay/replay-a-run.md');
const live = pageText('docs/replay/live.md');

/** The first block of a page that is no command. */
const shown = (text: string): string => /\n```\n([^`]+)\n```\n/.exec(text)?.[1] ?? '';

const clerk = (version: string, second: number): EngineConfig => {
  const turns: Output[] = [[call('pay', { n: 1 }, 'call_1')], [call('pay', { n: second }, `call_${second}`)]];
  const model = functionModel('clerk', ({ input }) => {
    const output = outputAfter([...turns, [say('Both are paid.')]], input);
    return { output, usage: new Usage({ inputTokens: 400, outputTokens: 30, totalTokens: 430 }) };
  });
  const pay = defineTool({
    ...{ name: 'pay', version, description: 'Pays.', input: z.object({ n: z.number() }), output: z.string() },
    execute: ({ n }) => `paid ${n}`,
  });
  return {
    agents: [defineAgent({ agent: new Agent({ name: 'clerk', model, tools: [pay] }), grants: ['tool:call:*'] })],
    prices: { 'object/clerk': { inputPerMillion: '0.25', outputPerMillion: '2' } },
  };
};

let t: TestEngine;
let run: string;
beforeAll(async () => {
  t = await openTestEngine('pglite', clerk('1', 2));
  run = (await runToRest(t.engine, 'clerk')).id;
});
afterAll(() => t.close());

it('the replay of a changed agent says what the page shows', async () => {
  await t.restart(clerk('2', 9));
  const report = await t.engine.replayRun(run, {}, ADMIN);
  expect(replayText(report).join('\n')).toBe(shown(strictly));
});

it('so does one that asks the models', async () => {
  const report = await t.engine.replayRun(run, { liveModel: true, maxUsd: '0.50' }, ADMIN);
  expect(replayText(report).join('\n')).toBe(shown(live));
});

it('the page has every reason to stop', () => {
  expect(names(live).slice(1)).toEqual(LIVE_STOPS);
});
