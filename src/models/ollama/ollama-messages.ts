import { type AgentInputItem, type protocol, UserError } from '@openai/agents';
import { argumentsObject } from './ollama-arguments.js';
import { assistantContent, resultContent, userContent } from './ollama-content.js';
import type { OllamaCall, OllamaMessage } from './ollama-wire.js';

export interface OllamaMessagesOptions {
  /** Where the images of a tool's result go. Some models refuse them on the tool's message. Default 'tool'. */
  readonly toolImages?: 'tool' | 'user';
}

/** The conversation as Ollama wants it. `warn` hears what had to be changed. Throws a UserError for what Ollama cannot take. */
export function ollamaMessages(
  instructions: string | undefined,
  input: string | readonly AgentInputItem[],
  options: OllamaMessagesOptions,
  warn: (text: string) => void,
): OllamaMessage[] {
  const conversation = new Conversation(options.toolImages ?? 'tool', warn);
  if (instructions !== undefined && instructions !== '') {
    conversation.push({ role: 'system', content: instructions });
  }
  if (typeof input === 'string') conversation.push({ role: 'user', content: input });
  else for (const item of input) conversation.add(item);
  return conversation.end();
}

/** What the assistant did in one turn: the SDK keeps it as several items, Ollama as one message. */
interface Turn {
  text: string | null;
  images: readonly string[];
  thinking: string[];
  calls: OllamaCall[];
}

class Conversation {
  readonly #messages: OllamaMessage[] = [];
  readonly #names = new Map<string, string>();
  readonly #toolImages: 'tool' | 'user';
  readonly #warn: (text: string) => void;
  #heldImages: string[] = [];
  #turn: Turn | null = null;

  constructor(toolImages: 'tool' | 'user', warn: (text: string) => void) {
    this.#toolImages = toolImages;
    this.#warn = warn;
  }

  add(item: AgentInputItem): void {
    switch (item.type) {
      case undefined:
      case 'message':
        if (item.role === 'assistant') this.#say(item);
        else this.#hear(item);
        break;
      case 'reasoning':
        this.#think(item);
        break;
      case 'function_call':
        this.#call(item);
        break;
      case 'function_call_result':
        this.#result(item);
        break;
      default:
        throw new UserError(`Ollama cannot take the item "${item.type}" of the conversation.`);
    }
  }

  push(message: OllamaMessage): void {
    this.#closeTurn();
    if (message.role !== 'tool') this.#releaseImages();
    this.#messages.push(message);
  }

  end(): OllamaMessage[] {
    this.#closeTurn();
    this.#releaseImages();
    return this.#messages;
  }

  #hear(item: protocol.UserMessageItem | protocol.SystemMessageItem): void {
    const { text, images } = userContent(item.content);
    const role = item.role === 'user' ? 'user' : 'system';
    this.push({ role, content: text, ...(images.length === 0 ? {} : { images }) });
  }

  #say(item: protocol.AssistantMessageItem): void {
    const { text, images } = assistantContent(item.content);
    if (this.#turn !== null && this.#turn.text !== null) this.#closeTurn();
    const turn = this.#open();
    turn.text = text;
    turn.images = images;
  }

  #think(item: protocol.ReasoningItem): void {
    if (this.#turn !== null && (this.#turn.text !== null || this.#turn.calls.length > 0)) this.#closeTurn();
    const parts = item.rawContent !== undefined && item.rawContent.length > 0 ? item.rawContent : item.content;
    this.#open().thinking.push(...parts.map((part) => part.text));
  }

  #call(item: protocol.FunctionCallItem): void {
    this.#names.set(item.callId, item.name);
    const { value, parsed } = argumentsObject(item.arguments);
    if (!parsed) this.#warn(`The arguments of the earlier call ${item.callId} of ${item.name} are not a JSON object.`);
    const { calls } = this.#open();
    calls.push({ id: item.callId, function: { index: calls.length, name: item.name, arguments: value } });
  }

  #result(item: protocol.FunctionCallResultItem): void {
    const { text, images } = resultContent(item.output);
    const onTool = this.#toolImages === 'tool' && images.length > 0;
    this.push({
      role: 'tool',
      content: text,
      ...(onTool ? { images } : {}),
      tool_name: item.name || (this.#names.get(item.callId) ?? ''),
      tool_call_id: item.callId,
    });
    // The call is written with its first result, and what is held then belongs before it.
    if (!onTool) this.#heldImages.push(...images);
  }

  #open(): Turn {
    this.#turn ??= { text: null, images: [], thinking: [], calls: [] };
    return this.#turn;
  }

  /** Thinking that led to nothing is dropped: there is no message that it could stand on. */
  #closeTurn(): void {
    const turn = this.#turn;
    this.#turn = null;
    if (turn === null || (turn.text === null && turn.calls.length === 0)) return;
    this.#releaseImages();
    this.#messages.push({
      role: 'assistant',
      content: turn.text ?? '',
      ...(turn.thinking.length === 0 ? {} : { thinking: turn.thinking.join('\n') }),
      ...(turn.images.length === 0 ? {} : { images: turn.images }),
      ...(turn.calls.length === 0 ? {} : { tool_calls: turn.calls }),
    });
  }

  /** After the last result of a turn, so that the results of parallel calls stay together. */
  #releaseImages(): void {
    if (this.#heldImages.length === 0) return;
    const images = this.#heldImages;
    this.#heldImages = [];
    this.#messages.push({ role: 'user', content: 'The images of the tool results above.', images });
  }
}
