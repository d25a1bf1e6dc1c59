import { encodeUint8ArrayToBase64, toSmartString } from '@openai/agents/utils';
import { canonical, isRecord, type JsonValue, toJson } from '../../core/json.js';

/** The output of a tool of the SDK: as JSON for the log, and as the text for the model where that is another one. */
export interface PlainOutput {
  readonly ok: true;
  readonly output: JsonValue;
  readonly text?: string;
}

/**
 * Returns what a tool of the SDK gave. The SDK makes a text of it, with names in the order of the tool, `undefined` as a word and
 * bytes in short. The log has canonical JSON, so that it keeps such a text beside it. Content parts are read by their fields.
 */
export function plainOutput(value: unknown): PlainOutput {
  if (isContent(value)) return { ok: true, output: toJson(withBase64(value)) };
  const text = String(toSmartString(value)).toWellFormed();
  const output = outputFrom(value, text);
  const isSaid = typeof output === 'string' ? output === text : readAgain(output) === text;
  return { ok: true, output, ...(isSaid ? {} : { text }) };
}

/** JSON as the SDK writes it that was canonical in between. */
const readAgain = (output: JsonValue): string => JSON.stringify(JSON.parse(canonical(output)));

/** A value that JSON cannot carry is its text. */
function outputFrom(value: unknown, text: string): JsonValue {
  try {
    return typeof value === 'object' && value !== null ? toJson(JSON.parse(text)) : toJson(value);
  } catch {
    return text;
  }
}

const MEDIA_FIELDS = ['image', 'imageUrl', 'file', 'fileId', 'data'] as const;

/** Whether the SDK hands a value to the model as content parts. */
const isContent = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 && value.every(isPart) : isPart(value);

function isPart(value: unknown): boolean {
  if (!isRecord(value) || Array.isArray(value)) return false;
  if (value['type'] === 'text') return typeof value['text'] === 'string';
  if (value['type'] !== 'image' && value['type'] !== 'file') return false;
  return MEDIA_FIELDS.some(
    (field) => isRecord(value[field]) || (typeof value[field] === 'string' && value[field] !== ''),
  );
}

/** Content parts whose bytes are base64, as the SDK writes them for the model. */
function withBase64(value: unknown): unknown {
  if (value instanceof Uint8Array) return encodeUint8ArrayToBase64(value);
  if (Array.isArray(value)) return value.map(withBase64);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withBase64(inner)]));
}
