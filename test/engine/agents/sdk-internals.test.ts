import { Agent, type FunctionTool, Runner, RunState, tool } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, functionModel } from '../../../src/index.js';
import {
  assertMethod,
  assertRunStateFields,
  endedCalls,
  firstOfLastResponse,
  generatedItems,
  modelResponses,
  originalInput,
  setGeneratedItems,
  startWithItems,
  workingAgent,
} from '../../../workflows/sdk/sdk-internals.js';
import { isAgentTool } from '../../../workflows/tool-calls/agent-tool.js';
import { call, resultsIn, say } from '../../harness/script.js';

/** One test for each undocumented member of @openai/agents that workflows/sdk uses. A failure names the member. */

const METHODS = {
  'Agent.prototype.getAllTools': Agent.prototype.getAllTools,
  'Agent.prototype.getEnabledHandoffs': Agent.prototype.getEnabledHandoffs,
  'Agent.prototype.getSystemPrompt': Agent.prototype.getSystemPrompt,
  'Agent.prototype.getPrompt': Agent.prototype.getPrompt,
  'Agent.prototype.getMcpTools': Agent.prototype.getMcpTools,
  'Agent.prototype.emit': Agent.prototype.emit,
  'Runner.prototype.run': Runner.prototype.run,
} satisfies Readonly<Record<string, unknown>>;

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  effect: 'pure',
  input: z.object({}),
  output: z.string(),
  execute: () => 'seen',
});
const model = functionModel('looker', (request) =>
  resultsIn(request.input).length === 0 ? [call('look', {}, 'c1')] : [say('done')],
);
const agent = new Agent({ name: 'looker', model, tools: [look] });

const setup = async () => {
  const { state } = await new Runner({ tracingDisabled: true }).run<Agent, unknown>(agent, 'go');
  return state;
};

describe('the methods of the Agents SDK that are patched', () => {
  it.each(Object.keys(METHODS))('%s is a method', (name) => {
    expect(() => assertMethod(name, Reflect.get(METHODS, name)), name).not.toThrow();
  });

  it('are named when the SDK does not have them any more', () => {
    expect(() => assertMethod('Agent.prototype.getAllTools', undefined)).toThrow(
      /Agent\.prototype\.getAllTools of @openai\/agents/,
    );
  });
});

describe('the properties of an agent that are overridden', () => {
  const keys = ['tools', 'mcpServers', 'model', 'inputGuardrails', 'outputGuardrails', 'toolUseBehavior'] as const;

  it.each(keys)('%s is a configurable property of its own', (key) => {
    const property = Object.getOwnPropertyDescriptor(new Agent({ name: 'fresh' }), key);
    expect(property?.configurable, `Agent#${key}`).toBe(true);
    expect(property && 'value' in property, `Agent#${key} holds its value`).toBe(true);
  });
});

describe('a function tool', () => {
  const given = { name: 'plain', description: 'Plain.', parameters: z.object({}), execute: () => 'text' };

  it('has an invoke of its own that can be replaced', () => {
    expect(Object.getOwnPropertyDescriptor(tool(given), 'invoke')?.configurable, 'FunctionTool#invoke').toBe(true);
  });

  it('is known as an agent by the method `on` that Agent#asTool gives it', () => {
    const behind = new Agent({ name: 'behind' }).asTool({ toolName: 'behind', toolDescription: 'Behind.' });
    expect(isAgentTool(behind as unknown as FunctionTool), 'Agent#asTool gives a method `on`').toBe(true);
    expect(isAgentTool({ ...behind } as unknown as FunctionTool), 'a copy of such a tool').toBe(true);
    expect(isAgentTool(tool(given) as unknown as FunctionTool), 'a plain tool').toBe(false);
  });
});

describe('the private fields of RunState', () => {
  it('are all there in a fresh state', () => {
    expect(() => assertRunStateFields(agent)).not.toThrow();
  });

  it.each(['_generatedItems', '_lastProcessedResponse', '_currentStep', '_completedToolInvocationEvidence'])(
    'are named when %s is gone',
    async (field) => {
      const state = await setup();
      const without = Object.fromEntries(Object.entries(state).filter(([name]) => name !== field));
      expect(() => assertRunStateFields(agent, without)).toThrow(/RunState\._/);
    },
  );

  it('say what a run has done', async () => {
    const state = await setup();
    expect(workingAgent(state), '_currentAgent').toBe(agent);
    expect(originalInput(state), '_originalInput').toBe('go');
    expect(modelResponses(state), '_modelResponses').toHaveLength(2);
    expect(
      generatedItems(state).map(({ type }) => type),
      '_generatedItems',
    ).toEqual(['tool_call_item', 'tool_call_output_item', 'message_output_item']);
    expect(firstOfLastResponse(state), '_lastProcessedResponse').toBe(generatedItems(state).at(-1));
    const { invocations, evidence } = endedCalls(state);
    expect([...(invocations.get(agent)?.keys() ?? [])], '_completedToolInvocations').toEqual(['c1']);
    expect([...(evidence.get(agent)?.keys() ?? [])], '_completedToolInvocationEvidence').toEqual(['c1']);
  });

  it('are what the SDK makes history and text of', async () => {
    const state = await setup();
    const items = generatedItems(state);
    expect(state.history, 'the input and the items').toHaveLength(4);
    startWithItems(state, items.slice(2));
    expect(state.history, 'without the input and the first two').toHaveLength(1);
    setGeneratedItems(state, items);
    expect(state.history, 'with the items again').toHaveLength(3);
    expect(RunState.prototype.toJSON, 'RunState#toJSON').toBeTypeOf('function');
  });
});
