import type { JsonObject, JsonValue } from '../../core/json.js';

/** The text of a part of an item; null: it is none. */
export const partText = (part: JsonValue | undefined): string | null => {
  const text = typeof part === 'object' && part !== null && !Array.isArray(part) ? (part as JsonObject)['text'] : null;
  return typeof text === 'string' ? text : null;
};
