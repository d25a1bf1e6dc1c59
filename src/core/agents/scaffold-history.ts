import { z } from 'zod';
import type { HoldfastError } from '../errors/errors.js';
import { type JsonObject, type JsonValue, jsonObject } from '../json.js';
import { askScaffold, type Scaffold, scaffoldFailed } from './scaffold.js';

const shownItems = z.array(jsonObject).min(1).max(100_000);

/**
 * What a scaffold shows of a conversation. It gets a copy. Throws `scaffold_failed` where it gives something else than items, or takes
 * a call and its result apart: providers of models refuse such a conversation.
 */
export function shownBy(
  { name, history }: Pick<Scaffold, 'name' | 'history'>,
  items: readonly JsonObject[],
): readonly JsonObject[] {
  if (history === undefined) return items;
  const shown = shownItems.safeParse(askScaffold(name, 'history', () => history(structuredClone(items))));
  if (!shown.success) throw failed(name, `gave no list of items: ${shown.error.issues[0]?.message ?? ''}`);
  const open = new Set<JsonValue | undefined>();
  for (const { type, callId } of shown.data) {
    if (type === 'function_call') open.add(callId);
    if (type === 'function_call_result' && !open.delete(callId))
      throw failed(name, `shows the result of the call ${String(callId)} without the call before it`);
  }
  const cut = items.find(({ type, callId }) => type === 'function_call_result' && open.has(callId));
  if (cut !== undefined) throw failed(name, `shows the call ${String(cut['callId'])} without its result`);
  return shown.data;
}

const failed = (name: string, how: string): HoldfastError => scaffoldFailed(name, 'history', how);
