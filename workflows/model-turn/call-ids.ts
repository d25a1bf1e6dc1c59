import { itemsOfInput } from '../../src/core/agents/session.js';
import { type JsonObject, plainText, sha256 } from '../../src/core/json.js';
import { modelResponses } from '../sdk/sdk-internals.js';
import type { SegmentContext } from '../segment-context.js';

/** Ids are in names of steps and in keys of rows. */
const LONGEST_ID = 256;

const idsOfLoop = new WeakMap<object, Set<string>>();

/** The call ids of all responses before this one, of the agent loop that works, and of the conversation that the run goes on with. */
function idsBefore(scope: SegmentContext): Set<string> {
  const loop = scope.state ?? scope;
  const known = idsOfLoop.get(loop);
  if (known !== undefined) return known;
  const ids = new Set<string>();
  for (const item of itemsOfInput(scope.run.input))
    if (item['type'] === 'function_call' && typeof item['callId'] === 'string') ids.add(item['callId']);
  for (const { output } of scope.state === null ? [] : modelResponses(scope.state))
    for (const item of output) if (item.type === 'function_call') ids.add(item.callId);
  idsOfLoop.set(loop, ids);
  return ids;
}

/**
 * What tells the calls of an agent behind a tool from those of others that use the same ids, and calls after a segment was
 * rebuilt from those that it had begun and not logged: these are known to the world by their ids.
 */
const suffixOf = ({ parentCall, run }: SegmentContext): string =>
  (parentCall === null ? '' : `_${sha256(parentCall.callId).slice('sha256:'.length, 'sha256:'.length + 8)}`) +
  (run.rebuilt === null ? '' : `_s${run.rebuilt}`);

/**
 * Gives calls an id that is theirs alone in the run. Some models number the calls of each response from one again, use one id twice
 * in a response, or leave it out; approvals, intents and outcomes belong to an id. An id that is too long is replaced.
 */
export function withOwnCallIds(
  scope: SegmentContext,
  turn: number,
  output: readonly JsonObject[],
): readonly JsonObject[] {
  const before = idsBefore(scope);
  const suffix = suffixOf(scope);
  const here = new Set<string>();
  const named = output.map((item, index) => {
    if (item['type'] !== 'function_call') return item;
    const asked = typeof item['callId'] === 'string' ? plainText(item['callId']) : '';
    const isUsable = asked !== '' && asked.length <= LONGEST_ID;
    let callId = `${isUsable ? asked : `call_${turn}_${index}`}${suffix}`;
    while (before.has(callId)) callId = `${callId}_${turn}`;
    while (here.has(callId) || before.has(callId)) callId = `${callId}_${index}`;
    here.add(callId);
    return callId === item['callId'] ? item : { ...item, callId };
  });
  for (const id of here) before.add(id);
  return named;
}

/** A response from a recording: its calls have their own ids already, which later ones must not use. */
export function withRecordedIds(scope: SegmentContext, output: readonly JsonObject[]): readonly JsonObject[] {
  const before = idsBefore(scope);
  for (const { type, callId } of output) if (type === 'function_call' && typeof callId === 'string') before.add(callId);
  return output;
}
