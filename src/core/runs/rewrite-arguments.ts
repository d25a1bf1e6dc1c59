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
