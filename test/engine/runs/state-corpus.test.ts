import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, Runner, RunState } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { sdkVersion } from '../../../src/engine/standalone/run-state-store.js';
import { defineTool, functionModel } from '../../../src/index.js';
import { call, resultsIn, say, scripted } from '../../harness/script.js';

/**
 * States that versions of the Agents SDK wrote: each must load and go on with this one. HOLDFAST_WRITE_GOLDEN=1 adds those of
 * the present version; those of older ones are never changed.
 */
const CORPUS = join(import.meta.dirname, '../../golden/states');

const shape = { input: z.object({ n: z.number() }), output: z.string() };
const look = defineTool({
  ...{ name: 'look', description: 'Looks.', effect: 'pure', ...shape },
  execute: ({ n }) => `look ${n}`,
});
const pay = defineTool({
  ...{ name: 'pay', description: 'Pays.', approval: true, ...shape },
  execute: ({ n }) => `pay ${n}`,
});
const tools = [look, pay];

const desk = new Agent({
  name: 'desk',
  tools,
  model: scripted([[call('look', {}, 'h')], [call('pay', { n: 3 }, 'p')]]),
});
const order = z.object({ paid: z.array(z.string()) });

/** One agent for each way a state can look, and what its run says in the end. */
const AGENTS: Readonly<Record<string, { readonly agent: Agent; readonly output: unknown }>> = {
  approval: {
    agent: new Agent({ name: 'approval', tools, model: scripted([[call('pay', { n: 1 }, 'a')]]) }),
    output: 'a=pay 1',
  },
  parallel: {
    agent: new Agent({
      name: 'parallel',
      tools,
      model: scripted([[call('look', { n: 1 }, 'a'), call('pay', { n: 2 }, 'b'), call('pay', { n: 3 }, 'c')]]),
    }),
    output: 'a=look 1 | b=pay 2 | c=pay 3',
  },
  handoff: {
    agent: Agent.create({
      name: 'handoff',
      tools,
      handoffs: [desk],
      model: scripted([[call('transfer_to_desk', {}, 'h')]]),
    }),
    output: 'h={"assistant":"desk"} | p=pay 3',
  },
  structured: {
    agent: new Agent({
      name: 'structured',
      tools,
      outputType: order,
      model: functionModel('structured', (request) => {
        const results = resultsIn(request.input);
        return results.length === 0
          ? [call('pay', { n: 1 }, 'a'), call('pay', { n: 2 }, 'b')]
          : [say(JSON.stringify({ paid: results.map(({ text }) => text) }))];
      }),
    }) as unknown as Agent,
    output: { paid: ['pay 1', 'pay 2'] },
  },
};

const runner = new Runner({ tracingDisabled: true });
const own = join(CORPUS, sdkVersion());

describe('a state of the Agents SDK', () => {
  it('is in the corpus for the present version', async () => {
    for (const [name, { agent }] of Object.entries(AGENTS)) {
      const file = join(own, `${name}.json`);
      if (process.env['HOLDFAST_WRITE_GOLDEN'] === '1' && !existsSync(file)) {
        mkdirSync(own, { recursive: true });
        const { state } = await runner.run(agent, 'go');
        writeFileSync(file, `${JSON.stringify(JSON.parse(state.toString()), null, 1)}\n`);
      }
      expect(existsSync(file), `HOLDFAST_WRITE_GOLDEN=1 writes ${file}`).toBe(true);
    }
  });

  for (const version of existsSync(CORPUS) ? readdirSync(CORPUS) : []) {
    for (const [name, { agent, output }] of Object.entries(AGENTS)) {
      it(`${name} of ${version} loads and goes on`, async () => {
        const state = await RunState.fromString(agent, readFileSync(join(CORPUS, version, `${name}.json`), 'utf8'));
        const waiting = state.getInterruptions();
        expect(waiting.length).toBeGreaterThan(0);
        for (const item of waiting) state.approve(item);
        expect((await runner.run(agent, state)).finalOutput).toEqual(output);
      });
    }
  }
});
