import { type ContentPart, contentText, partsOf } from '../content-part.js';
import { asJson, isObject, type JsonObject, type JsonValue } from '../json.js';
import type { ConversationCall } from './conversation.js';

/** Items of the Agents SDK as messages: what a run was given, and what a model gave. */

interface GivenText {
  readonly type: 'text';
  readonly role: 'system' | 'user';
  readonly text: string;
  /** Null: there is no image in it. */
  readonly parts: readonly ContentPart[] | null;
}

type Item =
  | GivenText
  | { readonly type: 'said'; readonly text: string }
  | { readonly type: 'thought'; readonly text: string }
  | { readonly type: 'call'; readonly call: ConversationCall }
  | { readonly type: 'result'; readonly callId: string; readonly tool: string; readonly text: string }
  | { readonly type: 'other'; readonly item: JsonObject };

const text = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');

/** What a model reads of the output of a call; of an image or a file, that there is one. */
export function outputText(output: JsonValue): string {
  if (typeof output === 'string') return output;
  const parts = Array.isArray(output) ? output : [output];
  return parts.length > 0 && parts.every(isContentPart) ? contentText(parts) : JSON.stringify(output);
}

const MEDIA_FIELDS = ['image', 'imageUrl', 'file', 'fileId', 'data'] as const;

/** Whether the Agents SDK hands a part of an output to the model as content, and not as JSON. */
function isContentPart(part: JsonValue): boolean {
  if (!isObject(part)) return false;
  const kind = text(part['type']).replace(/^input_/, '');
  if (kind === 'text') return typeof part['text'] === 'string';
  return (kind === 'image' || kind === 'file') && MEDIA_FIELDS.some((field) => isNamed(part[field]));
}

const isNamed = (value: JsonValue | undefined): boolean =>
  isObject(value) || (typeof value === 'string' && value !== '');

/** Arguments as an object: what a model wrote that is none is kept under the name that the model is told. */
export function argumentsObject(written: JsonValue | undefined): JsonObject {
  if (isObject(written)) return written;
  if (written === undefined || written === '') return {};
  if (typeof written !== 'string') return { not_a_json_object: JSON.stringify(written) };
  let value: JsonValue;
  try {
    value = asJson(JSON.parse(written));
  } catch {
    // It is no JSON, or nested too deep.
    return { not_a_json_object: written };
  }
  if (isObject(value)) return value;
  return { not_a_json_object: typeof value === 'string' ? value : JSON.stringify(value) };
}

const newCall = (callId: string, item: JsonObject): ConversationCall => ({
  callId,
  tool: toolOf(item),
  arguments: argumentsObject(item['arguments']),
  ...{ asked: null, decision: null, checks: [], childRunId: null },
});

const toolOf = ({ name, namespace }: JsonObject): string =>
  typeof namespace === 'string' ? `${namespace}.${text(name)}` : text(name);

export function readItem(item: JsonObject): Item {
  const { type, role, callId } = item;
  if (type === 'function_call' && typeof callId === 'string') return { type: 'call', call: newCall(callId, item) };
  if (type === 'function_call_result' && typeof callId === 'string')
    return { type: 'result', callId, tool: toolOf(item), text: outputText(item['output'] ?? '') };
  if (type === 'reasoning') return { type: 'thought', text: thought(item) };
  if (type !== undefined && type !== 'message') return { type: 'other', item };
  if (role === 'assistant') return { type: 'said', text: contentText(item['content']) };
  const { content } = item;
  const parts = role === 'user' ? partsOf(content) : null;
  return { type: 'text', role: role === 'system' ? 'system' : 'user', text: contentText(content), parts };
}

/** A summary of what the model thought, or else the thoughts themselves. */
function thought(item: JsonObject): string {
  const summary = contentText(item['content']);
  return summary === '' ? contentText(item['rawContent']) : summary;
}

/** What a model said in one answer. */
export interface Answer {
  readonly text: string;
  readonly reasoning: string | null;
  readonly calls: readonly ConversationCall[];
  readonly other: readonly JsonObject[];
}

const joined = (parts: readonly string[]): string => parts.filter((part) => part !== '').join('\n');

export function answerIn(output: readonly JsonObject[]): Answer {
  const items = output.map(readItem);
  const reasoning = joined(items.flatMap((item) => (item.type === 'thought' ? [item.text] : [])));
  return {
    text: joined(items.flatMap((item) => (item.type === 'said' ? [item.text] : []))),
    reasoning: reasoning === '' ? null : reasoning,
    calls: items.flatMap((item) => (item.type === 'call' ? [item.call] : [])),
    other: items.flatMap((item) => (item.type === 'other' ? [item.item] : [])),
  };
}

/** What a run was given, in order: texts, answers of an earlier run and the results of their calls. */
export type Given =
  | GivenText
  | ({ readonly type: 'answer' } & Answer)
  | { readonly type: 'result'; readonly callId: string; readonly tool: string; readonly text: string };

const ofAssistant = (item: JsonObject): boolean => !['text', 'result'].includes(readItem(item).type);

/** Items that one answer was made of come one after the other. */
export function givenIn(items: readonly JsonObject[]): Given[] {
  const given: Given[] = [];
  let answer: JsonObject[] = [];
  const close = (): void => {
    if (answer.length > 0) given.push({ type: 'answer', ...answerIn(answer) });
    answer = [];
  };
  for (const item of items) {
    if (ofAssistant(item)) {
      // A thought or a text after a call begins another answer.
      if (answer.some(isCall) && !isCall(item)) close();
      answer.push(item);
      continue;
    }
    close();
    const read = readItem(item);
    if (read.type === 'text' || read.type === 'result') given.push(read);
  }
  close();
  return given;
}

const isCall = (item: JsonObject): boolean => item['type'] === 'function_call';
