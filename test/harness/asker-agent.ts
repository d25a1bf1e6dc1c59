import { Agent } from '@openai/agents';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../src/index.js';
import { call, scripted } from './script.js';

const ask = defineTool({
  ...{ name: 'ask', description: 'Asks.', input: z.object({}), output: z.string(), effect: 'unsafe' },
  approval: () => 'because',
  execute: () => 'asked',
});

/** An agent `asker` whose runs wait for an approval. */
export const askerAgent = () =>
  defineAgent({
    agent: new Agent({ name: 'asker', model: scripted([[call('ask', {})]]), tools: [ask] }),
    grants: ['tool:call:*'],
  });
