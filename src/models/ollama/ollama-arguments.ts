import { jsonrepair } from 'jsonrepair';
import { isObject } from '../../core/json.js';

/** Under which name the model sees arguments of an earlier call that are no JSON object. */
const UNPARSED = 'unparsed_arguments';

/** Arguments of a call in the history, as the object that Ollama wants. `parsed` false: the text is kept under a marker. */
export function argumentsObject(text: string): { readonly value: object; readonly parsed: boolean } {
  if (text.trim() === '') return { value: {}, parsed: true };
  const value = objectIn(text);
  return value === null ? { value: { [UNPARSED]: text }, parsed: false } : { value, parsed: true };
}

/**
 * Arguments of a call that the model answered with, as JSON text. An object keeps the order of its keys; a text is kept,
 * unwrapped if it was encoded twice, or repaired; what cannot be repaired stays as it is, and its tool refuses it.
 */
export function argumentsText(value: unknown): { readonly text: string; readonly repaired: boolean } {
  if (value === undefined || value === null || value === '') return { text: '{}', repaired: false };
  if (typeof value !== 'string') return { text: JSON.stringify(value), repaired: false };
  const inner = parsed(value);
  if (typeof inner === 'string') return argumentsText(inner);
  if (inner !== undefined) return { text: value, repaired: false };
  try {
    const repaired = jsonrepair(value);
    if (objectIn(repaired) !== null) return { text: repaired, repaired: true };
  } catch {
    // Not repairable: the tool's schema says so to the model.
  }
  return { text: value, repaired: false };
}

function objectIn(text: string): object | null {
  const value = parsed(text);
  if (typeof value === 'string') return objectIn(value);
  return isObject(value) ? value : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
