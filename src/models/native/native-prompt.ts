import { callIdIn } from '../providers/call-id-form.js';
import type { Prompt } from './native-language.js';

type Message = Prompt[number];
type Assistant = Extract<Message, { role: 'assistant' }>;
type Tool = Extract<Message, { role: 'tool' }>;

/**
 * Returns a conversation as the API takes it. The adapter makes a message of each item; Gemini wants the results of parallel calls in
 * one message, and both APIs an answer as it was. Anthropic refuses empty texts, and ids of calls with other characters.
 */
export function nativePrompt(api: 'anthropic' | 'google', prompt: Prompt): Prompt {
  const messages: Message[] = [];
  for (const message of prompt) {
    const last = messages.at(-1);
    if (message.role === 'assistant') {
      const next = assistant(api, message);
      if (next.content.length === 0) continue;
      if (last?.role === 'assistant')
        messages[messages.length - 1] = { ...last, content: [...last.content, ...next.content] };
      else messages.push(next);
    } else if (message.role === 'tool') {
      const next = tool(api, message);
      if (last?.role === 'tool')
        messages[messages.length - 1] = { ...last, content: [...last.content, ...next.content] };
      else messages.push(next);
    } else messages.push(message);
  }
  return messages;
}

/** Options of the message itself would only repeat those of its parts. */
const assistant = (api: string, { content }: Assistant): Assistant => ({
  role: 'assistant',
  content: content.flatMap((part): Assistant['content'] => {
    if (part.type === 'text' && part.text === '') return [];
    return part.type === 'tool-call' ? [{ ...part, toolCallId: idFor(api, part.toolCallId) }] : [part];
  }),
});

const tool = (api: string, { content }: Tool): Tool => ({
  role: 'tool',
  content: content.map((part) =>
    part.type === 'tool-result' ? { ...part, toolCallId: idFor(api, part.toolCallId) } : part,
  ),
});

const idFor = (api: string, id: string): string => (api === 'anthropic' ? callIdIn(id, 'word') : id);
