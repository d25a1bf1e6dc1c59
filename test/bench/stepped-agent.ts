import { Agent, type Model, tool, Usage } from '@openai/agents';
import { add, addInput, INSTRUCTIONS, scriptedModel } from './agent.js';

/** How a peer keeps what a piece of work gave. */
export type Step = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/** The agent whose model and tool calls are steps of a peer; no checks, no log, no chain. */
export function steppedAgent(modelMs: number, step: Step): Agent {
  const inner = scriptedModel(modelMs);
  const model: Model = {
    ...inner,
    getResponse: async (request) => {
      const response = await step('model', () => inner.getResponse(request));
      const { requests, inputTokens, outputTokens, totalTokens } = response.usage;
      return { ...response, usage: new Usage({ requests, inputTokens, outputTokens, totalTokens }) };
    },
  };
  const adds = tool({
    name: 'add',
    description: 'Adds.',
    parameters: addInput,
    execute: (input) => step('tool', async () => add(input)),
  });
  return new Agent({ name: 'adder', model, instructions: INSTRUCTIONS, tools: [adds] });
}
