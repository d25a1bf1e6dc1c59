import { isObject, type JsonObject } from '../json.js';

const texts = (items: unknown, field: 'content' | 'rawContent', types: readonly string[]): string[] =>
  isObject(items) && Array.isArray(items[field])
    ? items[field].flatMap((part: unknown) =>
        isObject(part) && types.includes(String(part['type'])) && typeof part['text'] === 'string'
          ? [part['text']]
          : [],
      )
    : [];

/** The text of the messages, or of the reasoning, among the items of a response; null: there is none. */
export function said(output: readonly JsonObject[], type: 'message' | 'reasoning'): string | null {
  const parts = output
    .filter(
      (item) =>
        item['type'] === type || (type === 'message' && item['type'] === undefined && item['role'] === 'assistant'),
    )
    .flatMap((item) =>
      type === 'message'
        ? texts(item, 'content', ['output_text'])
        : [...texts(item, 'content', ['input_text']), ...texts(item, 'rawContent', ['reasoning_text'])],
    );
  return parts.length === 0 ? null : parts.join('\n');
}
