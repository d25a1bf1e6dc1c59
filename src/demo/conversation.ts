import type { ModelRequest } from '@openai/agents';

/** A tool call that a model asked for, with its result if there is one. */
export interface PastCall {
  readonly tool: string;
  readonly arguments: unknown;
  readonly result: string | null;
}

/** The tool calls of a conversation so far, in order. */
export function pastCalls({ input }: ModelRequest): readonly PastCall[] {
  if (typeof input === 'string') return [];
  const results = new Map<string, string>();
  for (const item of input) if (item.type === 'function_call_result') results.set(item.callId, textOf(item.output));
  return input.flatMap((item) =>
    item.type === 'function_call'
      ? [{ tool: item.name, arguments: parsed(item.arguments), result: results.get(item.callId) ?? null }]
      : [],
  );
}

/** JSON, or null for what is not. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function textOf(output: unknown): string {
  if (typeof output === 'string') return output;
  if (Array.isArray(output)) return output.map(textOf).join('\n');
  const text: unknown = typeof output === 'object' && output !== null ? Reflect.get(output, 'text') : undefined;
  return typeof text === 'string' ? text : JSON.stringify(output);
}
