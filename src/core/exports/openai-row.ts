import type { ToolDefinition } from '../agents/agent-prompt.js';
import type { ContentPart } from '../content-part.js';
import { digestOf, type JsonObject } from '../json.js';
import {
  type AssistantMessage,
  type ConversationCall,
  type ConversationMessage,
  isAssistant,
  isToolMessage,
} from './conversation.js';
import type { Thread } from './thread.js';

/**
 * A thread as a line of OpenAI's fine-tuning files for chat models: `messages`, `tools` and `parallel_tool_calls`, and nothing else, since
 * the service refuses members that it does not know.
 * https://platform.openai.com/docs/api-reference/fine-tuning/chat-input
 */
export function openaiRow(thread: Thread, media: 'placeholder' | 'inline'): JsonObject | null {
  const messages = complete(thread.messages);
  const own = messages.slice(thread.context).filter(isAssistant);
  if (own.length === 0) return null;
  const names = new FunctionNames();
  const written = messages.map((message, index) => messageOf(message, index < thread.context, media, names));
  const system: JsonObject[] = thread.system === null ? [] : [{ role: 'system', content: thread.system }];
  const tools = thread.tools.map((tool) => toolOf(tool, names));
  const isParallel = messages.some((one) => isAssistant(one) && one.calls.length > 1);
  return {
    messages: [...system, ...written],
    ...(tools.length === 0 ? {} : { tools, parallel_tool_calls: isParallel }),
  };
}

/** The beginning of a thread in which each call is answered, up to its last answer: a line ends with what the model said. */
function complete(messages: readonly ConversationMessage[]): readonly ConversationMessage[] {
  const answered = new Set(messages.filter(isToolMessage).map(({ callId }) => callId));
  const open = messages.findIndex((one) => isAssistant(one) && !one.calls.every(({ callId }) => answered.has(callId)));
  const whole = open < 0 ? messages : messages.slice(0, open);
  return whole.slice(0, whole.findLastIndex(isAssistant) + 1);
}

function messageOf(
  message: ConversationMessage,
  isContext: boolean,
  media: 'placeholder' | 'inline',
  names: FunctionNames,
): JsonObject {
  if (isToolMessage(message)) return { role: 'tool', tool_call_id: idOf(message.callId), content: message.text };
  if (isAssistant(message)) return answerOf(message, isContext, names);
  const { role, text, parts } = message;
  return { role, content: media === 'placeholder' || parts === null ? text : parts.map(partOf) };
}

const partOf = (part: ContentPart): JsonObject =>
  part.type === 'text' ? { type: 'text', text: part.text } : { type: 'image_url', image_url: { url: part.url } };

/** `weight` 0: the service reads the message, and does not train on it. */
const answerOf = ({ text, calls }: AssistantMessage, isContext: boolean, names: FunctionNames): JsonObject => ({
  role: 'assistant',
  ...(text === '' && calls.length > 0 ? {} : { content: text }),
  ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => callOf(call, names)) }),
  weight: isContext ? 0 : 1,
});

const callOf = ({ callId, tool, arguments: args }: ConversationCall, names: FunctionNames): JsonObject => ({
  id: idOf(callId),
  type: 'function',
  function: { name: names.of(tool), arguments: JSON.stringify(args) },
});

const LONGEST_ID = 40;
const hexOf = (text: string): string => digestOf(text).slice('sha256:'.length);
/** The service takes ids of up to forty characters. */
const idOf = (callId: string): string => (callId.length <= LONGEST_ID ? callId : `call_${hexOf(callId).slice(0, 24)}`);

const toolOf = ({ name, description, parameters }: ToolDefinition, names: FunctionNames): JsonObject => ({
  type: 'function',
  function: { name: names.of(name), description, parameters },
});

const LONGEST_NAME = 64;

/** Names that the service takes: letters, digits, `_` and `-`. Two tools never get the same one. */
class FunctionNames {
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();

  of(tool: string): string {
    const known = this.#names.get(tool);
    if (known !== undefined) return known;
    const plain = tool.replaceAll(/[^A-Za-z0-9_-]/g, '_');
    const isFree = plain !== '' && plain.length <= LONGEST_NAME && !this.#taken.has(plain);
    const name = isFree ? plain : `${plain.slice(0, LONGEST_NAME - 9)}_${hexOf(tool).slice(0, 8)}`;
    this.#names.set(tool, name);
    this.#taken.add(name);
    return name;
  }
}
