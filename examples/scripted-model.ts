import type { ModelProvider, ModelRequest } from '@openai/agents';
import { functionModel } from 'holdfast';

/** What the examples use in place of a model, so that they need no key: an answer is computed from the request. */

export type Answer = ReturnType<typeof say> | ReturnType<typeof call>;

/** Serves one scripted model under every name. `respond` must give the same answer to the same request. */
export const scripted = (respond: (request: ModelRequest) => Answer[]): ModelProvider => ({
  getModel: () => functionModel('scripted', respond),
});

export const say = (text: string) => ({
  type: 'message' as const,
  role: 'assistant' as const,
  status: 'completed' as const,
  content: [{ type: 'output_text' as const, text }],
});

export const call = (name: string, args: object) => ({
  type: 'function_call' as const,
  callId: '',
  name,
  arguments: JSON.stringify(args),
  status: 'completed' as const,
});

/** The results of the calls so far, oldest first, as the model reads them. */
export function results({ input }: ModelRequest): string[] {
  if (typeof input === 'string') return [];
  return input.flatMap((item) => {
    if (item.type !== 'function_call_result') return [];
    const { output } = item;
    if (typeof output === 'string') return [output];
    return [!Array.isArray(output) && output.type === 'text' ? output.text : JSON.stringify(output)];
  });
}

/** The text of the last message of a user. */
export function asked({ input }: ModelRequest): string {
  if (typeof input === 'string') return input;
  const last = input.findLast((item) => 'role' in item && item.role === 'user');
  if (last === undefined || !('content' in last)) return '';
  return typeof last.content === 'string' ? last.content : JSON.stringify(last.content);
}
