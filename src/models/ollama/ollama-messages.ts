import { type AgentInputItem, type protocol, UserError } from '@openai/agents';
import { argumentsObject } from './ollama-arguments.js';
import type { OllamaCall, OllamaMessage } from './ollama-wire.js';

/** What standard base64 never holds. An expression that has to match a whole image overflows the stack. */
const FOREIGN = /[^A-Za-z0-9+/]/;
const DATA_URL = /^data:(?:(?:image|audio)\/[\w.+-]{1,100})?(?:;[\w.=+-]{1,100}){0,10};base64,/i;

/**
 * The base64 of an image or a sound, as Ollama takes it: from a data URL, bare base64 or bytes. Throws a UserError that
 * names the part for everything else; an address is not fetched here, because reading the network needs a capability.
 */
function mediaBase64(value: unknown, part: string): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (typeof value !== 'string') {
    throw new UserError(`${part}: Ollama takes the data itself, not a reference to an uploaded file.`);
  }
  if (/^https?:\/\//i.test(value)) {
    throw new UserError(`${part}: Ollama takes no addresses; fetch the data first and give it as a data URL.`);
  }
  const data = value.replace(DATA_URL, '').replace(/\s+/g, '');
  if (!isBase64(data)) {
    throw new UserError(`${part}: not the base64 of an image or a sound, nor a data URL with it.`);
  }
  return data;
}

/** Standard base64 with its padding, as Go's decoder on the other side wants it. */
function isBase64(data: string): boolean {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0;
  return data.length > padding && data.length % 4 === 0 && !FOREIGN.test(data.slice(0, data.length - padding));
}

/** The text and the images of one message. */
interface OllamaContent {
  readonly text: string;
  readonly images: readonly string[];
}

const joined = (texts: readonly string[], images: readonly string[]): OllamaContent => ({
  text: texts.join('\n'),
  images,
});

const refused = (part: string) => new UserError(`Ollama cannot take the part "${part}" of a message.`);

function userContent(content: string | readonly protocol.UserContent[]): OllamaContent {
  if (typeof content === 'string') return joined([content], []);
  const texts: string[] = [];
  const images: string[] = [];
  for (const part of content) {
    if (part.type === 'input_text') texts.push(part.text);
    else if (part.type === 'input_image') images.push(mediaBase64(part.image, 'input_image'));
    else if (part.type === 'audio') images.push(mediaBase64(part.audio, 'audio'));
    else throw refused(part.type);
  }
  return joined(texts, images);
}

function assistantContent(content: string | readonly protocol.AssistantContent[]): OllamaContent {
  if (typeof content === 'string') return joined([content], []);
  const texts: string[] = [];
  const images: string[] = [];
  for (const part of content) {
    if (part.type === 'output_text') texts.push(part.text);
    else if (part.type === 'refusal') texts.push(part.refusal);
    else if (part.type === 'image') images.push(mediaBase64(part.image, 'image'));
    else if (typeof part.transcript === 'string') texts.push(part.transcript);
    else throw refused(part.type);
  }
  return joined(texts, images);
}

function resultContent(output: protocol.FunctionCallResultItem['output']): OllamaContent {
  if (typeof output === 'string') return joined([output], []);
  const texts: string[] = [];
  const images: string[] = [];
  for (const part of Array.isArray(output) ? output : [output]) {
    if (part.type === 'input_text' || part.type === 'text') texts.push(part.text);
    else if (part.type === 'input_image' || part.type === 'image') images.push(mediaBase64(imageOf(part), part.type));
    else if (part.type === 'input_file' || part.type === 'file') throw refused(part.type);
    // What a tool of another library left there is JSON for the model.
    else texts.push(JSON.stringify(part) ?? '');
  }
  return joined(texts, images);
}

/** A result names its image in five ways; of those, only the data itself is of use here. */
function imageOf(part: protocol.InputImage | protocol.ToolOutputImage): unknown {
  const { image } = part;
  if (typeof image !== 'object' || image === null) return image;
  if ('data' in image) return image.data;
  return 'url' in image ? image.url : image;
}

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
