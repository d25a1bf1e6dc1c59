import { z } from 'zod';

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
