import { z } from 'zod';

/**
 * Puts other arguments into every function call of an id in a serialised state of the Agents SDK, so that the tool runs with
 * them and the model reads them. Looks into the states of nested runs, which the SDK keeps as text. Returns how many places
 * were rewritten; 0: the state does not know the call.
 */
export function rewriteArguments(state: unknown, callId: string, args: string): number {
  if (typeof state !== 'object' || state === null) return 0;
  if (Array.isArray(state))
    return state.reduce<number>((count, item) => count + rewriteArguments(item, callId, args), 0);
  const item = state as Record<string, unknown>;
  let count = 0;
  if (item['type'] === 'function_call' && item['callId'] === callId) {
    item['arguments'] = args;
    count++;
  }
  for (const [key, value] of Object.entries(item)) {
    count +=
      key === 'pendingAgentToolRuns' ? rewriteNested(value, callId, args) : rewriteArguments(value, callId, args);
  }
  return count;
}

function rewriteNested(runs: unknown, callId: string, args: string): number {
  if (typeof runs !== 'object' || runs === null) return 0;
  const byKey = runs as Record<string, unknown>;
  let count = 0;
  for (const [key, text] of Object.entries(byKey)) {
    if (typeof text !== 'string') continue;
    const nested: unknown = JSON.parse(text);
    const rewritten = rewriteArguments(nested, callId, args);
    if (rewritten > 0) byKey[key] = JSON.stringify(nested);
    count += rewritten;
  }
  return count;
}

/**
 * Puts the result of a call into a serialised state of the Agents SDK, in place of what it was answered with while it
 * waited. Returns how many places were rewritten; 0: the state does not know the call.
 */
export function rewriteResult(state: unknown, callId: string, output: unknown): number {
  if (typeof state !== 'object' || state === null) return 0;
  if (Array.isArray(state))
    return state.reduce<number>((count, item) => count + rewriteResult(item, callId, output), 0);
  const item = state as Record<string, unknown>;
  let count = 0;
  if (item['type'] === 'function_call_result' && item['callId'] === callId) {
    item['output'] =
      partsOf(output) ?? (typeof item['output'] === 'string' ? textOf(output) : { type: 'text', text: textOf(output) });
    count++;
  }
  const raw = item['rawItem'];
  if (item['type'] === 'tool_call_output_item' && isCallOf(raw, callId)) item['output'] = textOf(output);
  for (const value of Object.values(item)) count += rewriteResult(value, callId, output);
  return count;
}

const textOf = (output: unknown): string => (typeof output === 'string' ? output : JSON.stringify(output));

/** Text that a tool gave in parts, as those of MCP servers do, in the words of the SDK; null: it gave something else. */
function partsOf(output: unknown): { type: 'input_text'; text: string }[] | null {
  const parts = [output].flat().map((part) => textPart.safeParse(part).data);
  const texts = parts.filter((part) => part !== undefined);
  if (texts.length === 0 || texts.length < parts.length) return null;
  return texts.map(({ text }) => ({ type: 'input_text', text }));
}

const textPart = z.strictObject({ type: z.literal('text'), text: z.string() });

const isCallOf = (raw: unknown, callId: string): boolean =>
  typeof raw === 'object' && raw !== null && 'callId' in raw && raw.callId === callId;

/** Whether a serialised state has a result for a call. */
export function knowsResult(state: unknown, callId: string): boolean {
  if (typeof state !== 'object' || state === null) return false;
  if ('type' in state && state.type === 'function_call_result' && isCallOf(state, callId)) return true;
  return Object.values(state).some((value) => knowsResult(value, callId));
}
