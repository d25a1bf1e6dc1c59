import type { ConversationCall } from './conversation.js';
import { asJson, type JsonObject, type JsonValue } from './json.js';

/** Items of the Agents SDK as messages: what a run was given, and what a model gave. */

type Item =
  | { readonly type: 'text'; readonly role: 'system' | 'user'; readonly text: string }
  | { readonly type: 'said'; readonly text: string }
  | { readonly type: 'thought'; readonly text: string }
  | { readonly type: 'call'; readonly call: ConversationCall }
  | { readonly type: 'result'; readonly callId: string; readonly tool: string; readonly text: string }
  | { readonly type: 'other'; readonly item: JsonObject };

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const text = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');

/** The text of a content; of an image or a file, that there is one. */
export function contentText(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map(partText).join('\n');
}

function partText(part: unknown): string {
  if (!isObject(part)) return '';
  if (typeof part['text'] === 'string') return part['text'];
  if (typeof part['refusal'] === 'string') return part['refusal'];
  return `[${text(part['type']).replace(/^(in|out)put_/, '') || 'part'}]`;
}

/** What a model reads of the output of a call. */
export function outputText(output: JsonValue): string {
  if (typeof output === 'string') return output;
  if (isObject(output) && output['type'] === 'text' && typeof output['text'] === 'string') return output['text'];
  return JSON.stringify(output);
}

/** Arguments as an object: what a model wrote that is none is kept under the name by which the model is told of it. */
export function argumentsObject(written: JsonValue | undefined): JsonObject {
  if (isObject(written)) return written;
  const source = text(written);
  if (source === '') return {};
  try {
    const value = asJson(JSON.parse(source));
    if (isObject(value)) return value;
  } catch {
    // Falls through: it is no JSON, or nested too deep.
  }
  return { not_a_json_object: source };
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
  return { type: 'text', role: role === 'system' ? 'system' : 'user', text: contentText(item['content']) };
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
  | { readonly type: 'text'; readonly role: 'system' | 'user'; readonly text: string }
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
