import { z } from 'zod';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { type JsonValue, sha256 } from '../../src/core/json.js';
import { type LoggedResult, textOf } from '../../src/core/log/call-outcome.js';
import type { PastItem } from '../model-turn/trim-history.js';

/** The same, as a state keeps it of results that it still has itself: those of the last turn. */
export const notedResult = z.object({ callId: z.string(), event: z.string(), digest: z.string() });
export type NotedResult = z.infer<typeof notedResult>;

/** What a stored state has in the place of a long result of an earlier turn: the event that has it. */
export const loggedItem = z.looseObject({
  type: z.literal('logged_result'),
  rawItem: z.looseObject({ callId: z.string() }),
  event: z.string(),
  digest: z.string(),
  /** Whether the SDK has it as text, although it is no text. */
  asText: z.boolean(),
});
export type LoggedItem = z.infer<typeof loggedItem>;

/** The item as a stored state has it: without a result that the log has just so. */
export function withoutLogged(item: PastItem, logged: ReadonlyMap<string, LoggedResult>): PastItem | LoggedItem {
  if (item.type !== 'tool_call_output_item') return item;
  const known = logged.get(item.rawItem.callId);
  if (known === undefined) return item;
  const { output: shown, ...rawItem } = item.rawItem;
  if (typeof shown !== 'object' || !('text' in shown) || shown.type !== 'text' || Object.keys(shown).length > 2)
    return item;
  const isLogged = known.text === null ? sha256(shown.text) === known.digest : shown.text === known.text;
  if (!isLogged || textOf(item.output) !== shown.text) return item;
  const { output, ...rest } = item;
  const asText = typeof output === 'string';
  return { ...rest, rawItem, type: 'logged_result', event: known.key, digest: known.digest, asText };
}

/** What a state notes of long results that it has itself, in the order of their events. */
export const notedIn = (
  logged: ReadonlyMap<string, LoggedResult>,
  items: readonly (PastItem | LoggedItem)[],
): readonly NotedResult[] => {
  const referred = new Set(items.flatMap((item) => ('event' in item ? [item.rawItem.callId] : [])));
  const own = [...logged].filter(([callId]) => !referred.has(callId));
  return own
    .map(([callId, { key, digest }]) => ({ callId, event: key, digest }))
    .sort((a, b) => (a.event < b.event ? -1 : 1));
};

/** An input with more characters is not stored with each state: the row of the run has it. */
const LONG_INPUT = 64 * 1024;

/** The digest of the input of a run, if the state begins with just that and it is long; null: the state keeps its own. */
export function inputDigest(originalInput: unknown, input: JsonValue): string | null {
  if (typeof originalInput !== typeof input) return null;
  const text = textOf(originalInput);
  return text.length > LONG_INPUT && text === textOf(input) ? sha256(text) : null;
}

/** The input that a state refers to. Throws `state_unreadable`. */
export function inputFor(digest: string, input: JsonValue | null): JsonValue {
  if (input !== null && sha256(textOf(input)) === digest) return input;
  throw new HoldfastError('state_unreadable', 'The state refers to an input that the run does not have.');
}
