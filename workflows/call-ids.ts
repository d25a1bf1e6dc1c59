import { type JsonObject, plainText } from '../src/core/json.js';
import { itemsOfInput } from '../src/core/session.js';
import type { SegmentScope } from './segment-scope.js';

const idsOfScope = new WeakMap<SegmentScope, Set<string>>();

/** The call ids of all responses of the run before this one, and of the conversation that it goes on with. */
function idsBefore(scope: SegmentScope): Set<string> {
  const known = idsOfScope.get(scope);
  if (known !== undefined) return known;
  const ids = new Set<string>();
  for (const item of itemsOfInput(scope.run.input))
    if (item['type'] === 'function_call' && typeof item['callId'] === 'string') ids.add(item['callId']);
  for (const { output } of scope.state?._modelResponses ?? [])
    for (const item of output) if (item.type === 'function_call') ids.add(item.callId);
  idsOfScope.set(scope, ids);
  return ids;
}

/**
 * Gives calls an id that is theirs alone in the run. Some models number the calls of each response from one again, or leave
 * the id out; approvals, intents and outcomes belong to an id. Two calls of one id within a response stay as they are: the
 * SDK refuses them.
 */
export function withOwnCallIds(
  scope: SegmentScope,
  turn: number,
  output: readonly JsonObject[],
): readonly JsonObject[] {
  const before = idsBefore(scope);
  const here = new Set<string>();
  const named = output.map((item, index) => {
    if (item['type'] !== 'function_call') return item;
    const asked = typeof item['callId'] === 'string' ? plainText(item['callId']) : '';
    let callId = asked === '' ? `call_${turn}_${index}` : asked;
    while (before.has(callId)) callId = `${callId}_${turn}`;
    here.add(callId);
    return callId === item['callId'] ? item : { ...item, callId };
  });
  for (const id of here) before.add(id);
  return named;
}
