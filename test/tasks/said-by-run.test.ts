import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel, subAgent } from '../../src/index.js';
import { type RunText, saidByRun } from '../../steps/verification/said-by-run.js';
import { ADMIN, engineFor, runToRest } from '../harness/engine.js';
import { call, resultsIn, say, scripted } from '../harness/script.js';
import { SLOW } from '../harness/slow.js';

/** What of a run is looked through for canaries beside its files. */

const look = defineTool({
  ...{
    name: 'look',
    description: 'Looks.',
    input: z.object({ at: z.string() }),
    output: z.object({ seen: z.string() }),
    effect: 'pure' as const,
  },
  execute: () => ({ seen: 'told by a tool' }),
});
const thought = { type: 'reasoning' as const, content: [{ type: 'input_text' as const, text: 'only thought' }] };

const boss = functionModel('boss', ({ input }) => {
  const told = resultsIn(input).length;
  if (told === 0) return [thought, say('said beside a call'), call('look', { at: 'an argument' }, 'a')];
  return told === 1 ? [call('work', { input: 'the job' }, 'b')] : [say('the end')];
});

const t = engineFor('pglite', {
  agents: [
    defineAgent({
      agent: new Agent({ name: 'boss', model: boss, tools: [look, subAgent({ agent: 'worker', name: 'work' })] }),
      grants: ['tool:call:look', 'tool:call:work'],
    }),
    defineAgent({ agent: new Agent({ name: 'worker', model: scripted([[say('said by the other')]]) }) }),
  ],
});

it.runIf(SLOW)(
  'is what its models said in each turn, and those of the runs that it started, and not what they read or thought',
  async () => {
    const { id } = await runToRest(t.engine, 'boss');
    const statusOf = async () => (await t.engine.getRun(id, ADMIN)).status;
    await expect.poll(statusOf, { timeout: 20_000 }).toBe('completed');
    const all = await t.between(async (knex) => {
      const found: RunText[] = [];
      for await (const one of saidByRun({ knex }, id)) found.push(one);
      return found;
    });
    expect(all.map(({ place }) => place)).toEqual([
      'turn 1',
      'turn 2',
      'turn 3',
      expect.stringMatching(/^run_\w+, turn 1$/),
    ]);
    expect(all[0]?.text).toContain('said beside a call');
    expect(all[0]?.text).toContain('an argument');
    expect(all[2]?.text).toContain('the end');
    expect(all[3]?.text).toContain('said by the other');
    expect(JSON.stringify(all)).not.toMatch(/told by a tool|only thought/);
  },
);
