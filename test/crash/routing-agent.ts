import { appendFileSync } from 'node:fs';
import { Agent, type ModelProvider } from '@openai/agents';
import { z } from 'zod';
import { defineAgent, defineConfig, defineTool, functionModel } from '../../src/index.js';
import { call, resultsIn, say } from '../harness/script.js';
import { place } from './place.js';

const note = (text: string): void => appendFileSync(process.env['ASKED'] ?? '', `${text}\n`);

/** Each model says by whom the calls before were asked for; the process may die while one answers. */
const lab: ModelProvider = {
  getModel: async (name = '') =>
    functionModel(name, ({ input }) => {
      const results = resultsIn(input);
      note(`${name}:${results.length}`);
      if (results.length === 1) place(`model ${name}`);
      return results.length < 2
        ? [call('look', { by: name }, `call_${results.length}`)]
        : [say([...results.map(({ text }) => text), name].join(' '))];
    }),
};

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  effect: 'pure',
  input: z.object({ by: z.string() }),
  output: z.string(),
  execute: ({ by }, { callId }) => {
    if (callId === 'call_1') place('tool');
    return by;
  },
});

/** Two models in turn: the one that begins again begins with the first. */
export const routing = defineConfig({
  agents: [
    defineAgent({
      agent: new Agent({ name: 'looker', model: 'router/turns', tools: [look] }),
      grants: ['tool:call:look'],
    }),
  ],
  providers: { lab },
  routers: { turns: { strategy: 'round_robin', candidates: ['lab/a', 'lab/b'] } },
});
