import { functionModel } from '../../src/index.js';

/** Models of tests: pure functions of the conversation, so that a restart gets the same answers. */

export const call = (name: string, args: unknown, id = `call_${name}`) => ({
  type: 'function_call' as const,
  callId: id,
  name,
  arguments: typeof args === 'string' ? args : JSON.stringify(args),
  status: 'completed' as const,
});

export const say = (text: string) => ({
  type: 'message' as const,
  role: 'assistant' as const,
  status: 'completed' as const,
  content: [{ type: 'output_text' as const, text }],
});

type Item = { readonly type?: string; readonly callId?: string; readonly output?: unknown };
export type Output = (ReturnType<typeof call> | ReturnType<typeof say>)[];

export const textOf = (output: unknown): string => {
  if (typeof output === 'string') return output;
  if (Array.isArray(output)) return output.map(textOf).join('');
  const text = (output as { text?: unknown } | null)?.text;
  return typeof text === 'string' ? text : JSON.stringify(output);
};

/** What the model was told about its calls, in order. */
export const resultsIn = (input: unknown): { callId: string; text: string }[] =>
  (Array.isArray(input) ? (input as Item[]) : [])
    .filter((item) => item.type === 'function_call_result')
    .map((item) => ({ callId: item.callId ?? '', text: textOf(item.output) }));

/** Says the n-th output when n responses of its own are in the conversation; after the last: the results it was told. */
export const scripted = (outputs: readonly Output[], delayMs = 0) =>
  functionModel('scripted', async (request) => {
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    return outputAfter(outputs, request.input);
  });

/** What such a model says next. */
export function outputAfter(outputs: readonly Output[], input: unknown): Output {
  const results = resultsIn(input);
  let left = results.length;
  for (const output of outputs) {
    const calls = output.filter((item) => item.type === 'function_call').length;
    if (left < calls || (calls === 0 && left === 0)) return output;
    left -= calls;
  }
  // An answer that is empty is a failed one.
  return [say(results.map(({ callId, text }) => `${callId}=${text}`).join(' | ') || 'Nothing was called.')];
}
