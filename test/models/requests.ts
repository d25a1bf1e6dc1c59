import type { ModelRequest, protocol } from '@openai/agents';

export const requestOf = (part: Partial<ModelRequest>): ModelRequest => ({
  input: 'Hello',
  modelSettings: {},
  tools: [],
  outputType: 'text',
  handoffs: [],
  tracing: false,
  ...part,
});

export const textItem = (text: string): protocol.AssistantMessageItem => ({
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text }],
});

export const callItem = (name: string, args: object, callId = ''): protocol.FunctionCallItem => ({
  type: 'function_call',
  callId,
  name,
  arguments: JSON.stringify(args),
  status: 'completed',
});

export const resultItem = (
  callId: string,
  name: string,
  output: protocol.FunctionCallResultItem['output'],
): protocol.FunctionCallResultItem => ({ type: 'function_call_result', callId, name, status: 'completed', output });

export const weatherTool: ModelRequest['tools'][number] = {
  type: 'function',
  name: 'weather',
  description: 'The weather of a city.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  strict: true,
};
