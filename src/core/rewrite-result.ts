/**
 * Puts the result of a call into a serialised state of the Agents SDK, in place of what it was answered with while it
 * waited. Returns how many places were rewritten; 0: the state does not know the call.
 */
export function rewriteResult(state: unknown, callId: string, output: string): number {
  if (typeof state !== 'object' || state === null) return 0;
  if (Array.isArray(state))
    return state.reduce<number>((count, item) => count + rewriteResult(item, callId, output), 0);
  const item = state as Record<string, unknown>;
  let count = 0;
  if (item['type'] === 'function_call_result' && item['callId'] === callId) {
    item['output'] = typeof item['output'] === 'string' ? output : { type: 'text', text: output };
    count++;
  }
  const raw = item['rawItem'];
  if (item['type'] === 'tool_call_output_item' && isCallOf(raw, callId)) item['output'] = output;
  for (const value of Object.values(item)) count += rewriteResult(value, callId, output);
  return count;
}

const isCallOf = (raw: unknown, callId: string): boolean =>
  typeof raw === 'object' && raw !== null && 'callId' in raw && raw.callId === callId;

/** Whether a serialised state has a result for a call. */
export function knowsResult(state: unknown, callId: string): boolean {
  if (typeof state !== 'object' || state === null) return false;
  if ('type' in state && state.type === 'function_call_result' && isCallOf(state, callId)) return true;
  return Object.values(state).some((value) => knowsResult(value, callId));
}
