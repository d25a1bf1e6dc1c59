import { z } from 'zod';
import { isObject, type JsonObject, type JsonValue, jsonObject } from '../json.js';

/** A session beyond one of these takes no new run. What a run has said in the meantime is always kept. */
export const SESSION_ITEMS = 10_000;
export const SESSION_BYTES = 8 * 1024 * 1024;

export const sessionId = z
  .string()
  // A path of "." or ".." is another path.
  .regex(/^(?!\.{1,2}$)[\x21-\x7e]{1,200}$/, 'expected 1 to 200 visible ASCII characters, and not "." or ".."')
  .describe('A conversation that goes on over several runs; the first run of an id begins it.');

export const sessionView = z
  .object({
    id: z.string(),
    tenant: z.string(),
    runId: z.string().nullable().describe('The run that is in the session and not over; null: the next run may start.'),
    items: z.int(),
    bytes: z.int().describe('Size of all items as JSON.'),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Session' });
export type SessionView = z.infer<typeof sessionView>;

export const sessionItem = z
  .object({
    seq: z.int().min(1).describe('Place in the conversation: 1, 2, 3 … without a gap.'),
    runId: z.string().nullable().describe('The run that it came from; null: a program wrote it.'),
    item: jsonObject.describe('An item in the format of the Agents SDK.'),
  })
  .meta({ id: 'SessionItem' });
export type SessionItem = z.infer<typeof sessionItem>;

/** An input as items, as the Agents SDK makes them. */
export const itemsOfInput = (input: JsonValue): readonly JsonObject[] =>
  Array.isArray(input) ? input.filter(isObject) : [{ type: 'message', role: 'user', content: String(input) }];

/** Types of calls that this side answers, with the type of their results. */
const RESULT_OF: { readonly [type: string]: string } = {
  function_call: 'function_call_result',
  computer_call: 'computer_call_result',
  shell_call: 'shell_call_output',
  apply_patch_call: 'apply_patch_call_output',
};

/**
 * What of a session a model is shown, by the rules of the Agents SDK: from the latest compaction on, without calls that have
 * no result and the reasoning that led to them, because providers refuse these.
 */
export function shownHistory(items: readonly JsonObject[]): readonly JsonObject[] {
  const from = items.findLastIndex((item) => item['type'] === 'compaction');
  const recent = items.slice(Math.max(0, from));
  const answered = new Set(recent.map((item) => `${item['type']}:${item['callId']}`));
  const isOrphan = (item: JsonObject | undefined): boolean => {
    const result = RESULT_OF[String(item?.['type'])];
    return result !== undefined && !answered.has(`${result}:${item?.['callId']}`);
  };
  return recent.filter((item, index) => {
    if (item['type'] !== 'reasoning') return !isOrphan(item);
    return !isOrphan(recent.slice(index).find((next) => next['type'] !== 'reasoning'));
  });
}

const OWN_IDS: ReadonlySet<unknown> = new Set(['function_call', 'function_call_result']);

/** Items as a session keeps them: without the ids that the provider gave to one answer only, as the Agents SDK does. */
export const keptItems = (items: readonly JsonObject[]): readonly JsonObject[] =>
  items.map((item) => {
    if (!OWN_IDS.has(item['type'])) return item;
    const { id: _id, ...kept } = item;
    return kept;
  });
