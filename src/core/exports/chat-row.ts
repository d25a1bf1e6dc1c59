import { z } from 'zod';
import type { ToolDefinition } from '../agents/agent-prompt.js';
import { bytesOf, type ContentPart, partsOf } from '../content-part.js';
import { asJson, type JsonObject, type JsonValue } from '../json.js';
import {
  type AssistantMessage,
  type ConversationCall,
  type ConversationMessage,
  isAssistant,
  type ToolMessage,
} from './conversation.js';
import type { Thread } from './thread.js';

/** The other fields of a message, and the name that programs read as the prototype of it. */
const TAKEN: ReadonlySet<string> = new Set(['role', 'content', 'name', 'tool_calls', 'tool_call_id', '__proto__']);

/** How chat messages are written. What chat templates want is the default. */
export const chatOptions = z.strictObject({
  arguments: z
    .enum(['object', 'string'])
    .default('object')
    .describe('Arguments of calls: an object, as chat templates want them, or a text, as the API of OpenAI has them.'),
  reasoningKey: z
    .string()
    .regex(/^[a-z_]{1,40}$/)
    .refine((key) => !TAKEN.has(key), 'expected a name that no other field of a message has')
    .nullable()
    .default('reasoning_content')
    .describe('The field of what the model thought; null: it is left out.'),
  splitParallel: z
    .boolean()
    .default(false)
    .describe('One message for each call, for templates that take one call at a time.'),
});
export type ChatOptions = z.output<typeof chatOptions>;

/** A message in the shape of OpenAI's chat completions, as TRL and chat templates read it. */
export type ChatMessage =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | {
      readonly role: 'assistant';
      /** Never null: templates fail on it. */
      readonly content: string;
      readonly tool_calls?: readonly ChatCall[];
      /** What the model thought, under the name of the options. */
      readonly [reasoning: string]: JsonValue | readonly ChatCall[];
    }
  | { readonly role: 'tool'; readonly content: string; readonly name: string; readonly tool_call_id: string };

export interface ChatCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: JsonObject | string };
}

export interface ChatTool {
  readonly type: 'function';
  readonly function: ToolDefinition;
}

export const chatTools = (tools: readonly ToolDefinition[]): ChatTool[] =>
  tools.map((tool) => ({ type: 'function', function: tool }));

/** The contents of messages that have an image. */
type Shown = Map<ChatMessage, readonly ContentPart[]>;

/** The messages of a thread with its system prompt, and how many of them are context. */
export function chatOf(
  thread: Thread,
  options: ChatOptions,
  shown: Shown = new Map(),
): { messages: ChatMessage[]; context: number } {
  const head: ChatMessage[] = thread.system === null ? [] : [{ role: 'system', content: thread.system }];
  const context = written(thread.messages.slice(0, thread.context), options, shown);
  const own = written(thread.messages.slice(thread.context), options, shown);
  return { messages: [...head, ...context, ...own], context: thread.context === 0 ? 0 : head.length + context.length };
}

/**
 * The messages with their contents in parts, as templates of models that see want them, and the images in the order of the parts that
 * stand for them. `bytes` is base64 of the image; null: it is at `path`.
 */
export function imagesOf(thread: Thread, options: ChatOptions): { messages: JsonObject[]; images: JsonObject[] } {
  const shown: Shown = new Map();
  const images: JsonObject[] = [];
  const messages = chatOf(thread, options, shown).messages.map((message): JsonObject => {
    const parts = shown.get(message) ?? [{ type: 'text', text: message.content } as const];
    for (const part of parts) if (part.type === 'image') images.push(imageOf(part.url));
    const content = parts.map((part): JsonObject => (part.type === 'text' ? { ...part } : { type: 'image' }));
    return { ...(asJson(message) as JsonObject), content };
  });
  return { messages, images };
}

const imageOf = (url: string): JsonObject => {
  const found = bytesOf(url);
  return found === null ? { bytes: null, path: url } : { bytes: found.base64, path: null };
};

function written(messages: readonly ConversationMessage[], options: ChatOptions, shown: Shown): ChatMessage[] {
  const seen = (message: ChatMessage, parts: readonly ContentPart[] | null): ChatMessage => {
    if (parts !== null) shown.set(message, parts);
    return message;
  };
  const toolMessage = (message: ToolMessage): ChatMessage => {
    const { outcome } = message;
    return seen(resultMessage(message), outcome?.type === 'output' ? partsOf(outcome.output) : null);
  };
  const results = new Map(messages.flatMap((one) => (one.role === 'tool' ? [[one.callId, one] as const] : [])));
  const placed = new Set<string>();
  return messages.flatMap((message): ChatMessage[] => {
    if (message.role === 'tool') return placed.has(message.callId) ? [] : [toolMessage(message)];
    if (!isAssistant(message)) return [seen({ role: message.role, content: message.text }, message.parts)];
    if (!options.splitParallel || message.calls.length < 2) return [assistant(message, message.calls, options)];
    return message.calls.flatMap((call, index) => {
      const result = results.get(call.callId);
      if (result !== undefined) placed.add(call.callId);
      const said = index === 0 ? message : { ...message, text: '', reasoning: null };
      return [assistant(said, [call], options), ...(result === undefined ? [] : [toolMessage(result)])];
    });
  });
}

const resultMessage = (message: ToolMessage): ChatMessage => ({
  ...{ role: 'tool', name: message.tool, tool_call_id: message.callId, content: message.text },
});

function assistant(
  { text, reasoning }: Pick<AssistantMessage, 'text' | 'reasoning'>,
  calls: readonly ConversationCall[],
  { reasoningKey, arguments: shape }: ChatOptions,
): ChatMessage {
  return {
    role: 'assistant',
    content: text,
    ...(reasoningKey === null || reasoning === null ? {} : { [reasoningKey]: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => chatCall(call, shape)) }),
  };
}

const chatCall = ({ callId, tool, arguments: args }: ConversationCall, shape: ChatOptions['arguments']): ChatCall => ({
  id: callId,
  type: 'function',
  function: { name: tool, arguments: shape === 'object' ? args : JSON.stringify(args) },
});

const FROM = { system: 'system', user: 'human', assistant: 'gpt', tool: 'tool' } as const;

/** One turn of ShareGPT. It knows no calls: they are written as text, each as one JSON object in the tags that Hermes uses. */
export interface ShareGptTurn {
  readonly from: (typeof FROM)[keyof typeof FROM];
  readonly value: string;
}

export const shareGptOf = (messages: readonly ChatMessage[]): ShareGptTurn[] =>
  messages.map((message) => ({ from: FROM[message.role], value: textOf(message) }));

function textOf(message: ChatMessage): string {
  if (message.role !== 'assistant') return message.content;
  const calls = (message.tool_calls ?? []).map(
    ({ function: { name, arguments: args } }) =>
      `<tool_call>\n${JSON.stringify({ name, arguments: args }).replaceAll('<', '\\u003c')}\n</tool_call>`,
  );
  return [message.content.replace(CALL_TAG, '&lt;$1'), ...calls].filter((part) => part !== '').join('\n');
}

/** A text that has the tags of calls would be read as calls that no one made. */
const CALL_TAG = /<(\/?tool_call\b)/gi;
