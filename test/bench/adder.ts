import { Agent } from '@openai/agents';
import { defineAgent, defineTool } from 'holdfast';
import { z } from 'zod';
import { add, addInput, INSTRUCTIONS, scriptedModel } from './agent.js';
import type { Job } from './side.js';

interface Adder {
  readonly effect?: Job['effect'];
  readonly modelMs?: number;
  /** Before each call of the tool. */
  readonly onCall?: () => void;
}

/** The agent that calls `add` once a turn, as Holdfast runs it. */
export const adder = ({ effect = 'pure', modelMs = 0, onCall = () => undefined }: Adder = {}) => {
  const adds = defineTool({
    name: 'add',
    description: 'Adds.',
    input: addInput,
    output: z.string(),
    effect,
    capabilities: ['bench:add:numbers'],
    execute: async (input) => {
      onCall();
      return add(input);
    },
  });
  return defineAgent({
    agent: new Agent({ name: 'adder', model: scriptedModel(modelMs), instructions: INSTRUCTIONS, tools: [adds] }),
    grants: ['bench:add:*'],
    maxTurns: 10_000,
  });
};
