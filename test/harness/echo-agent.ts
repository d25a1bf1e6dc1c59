import { Agent } from '@openai/agents';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../src/index.js';
import { call, scripted } from './script.js';

const echo = defineTool({
  name: 'echo',
  description: 'Echoes.',
  input: z.object({ text: z.string() }),
  output: z.string(),
  effect: 'pure',
  execute: ({ text }) => text,
});

/** An agent named `echo`, which has its tool say a text and then ends. */
export const echoAgent = (text: string) =>
  defineAgent({
    agent: new Agent({ name: 'echo', model: scripted([[call('echo', { text })]]), tools: [echo] }),
    grants: ['tool:call:echo'],
  });
