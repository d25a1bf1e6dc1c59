import { sha256 } from '../../core/json.js';
import { ModelCallError } from '../failures/model-call-error.js';
import { callIdIn } from '../providers/call-id-form.js';
import type {
  CallOptions,
  FinishReason,
  LanguageModel,
  Prompt,
  StreamedAnswer,
  StreamPart,
  TokenUsage,
  WholeAnswer,
} from './native-packages.js';

type Message = Prompt[number];
type Assistant = Extract<Message, { role: 'assistant' }>;
type Tool = Extract<Message, { role: 'tool' }>;

/**
 * Returns a conversation as the API takes it. The adapter makes a message of each item; Gemini wants the results of parallel calls in
 * one message, and both APIs an answer as it was. Anthropic refuses empty texts, and ids of calls with other characters.
 */
function nativePrompt(api: 'anthropic' | 'google', prompt: Prompt): Prompt {
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

type Api = 'anthropic' | 'google';
type Content = WholeAnswer['content'][number];
type ToolCall = Extract<Content, { type: 'tool-call' }>;

/** Begins the id that stands for a call without one, until the id of the answer is known. */
export const UNNAMED = 'unnamed:';

/** The text of one message, and the signature that Gemini wants back with it. */
export interface SpokenText {
  text: string;
  signature: string | null;
}

/**
 * A model of the AI SDK for one request. It gives the adapter what it does not do itself (a history that the API takes, ids that are
 * the same in a replay, all tokens), and keeps what the adapter drops: why an answer ended, and signatures of texts.
 */
export class NativeAnswer implements LanguageModel {
  readonly specificationVersion = 'v3';
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: LanguageModel['supportedUrls'];
  /** Null: the answer has not ended. */
  finish: FinishReason | null = null;
  readonly texts: SpokenText[] = [];
  readonly #model: LanguageModel;
  readonly #api: Api;
  readonly #isStreamed: boolean;
  #asked = '';
  #answerId: string | null = null;
  readonly #names = new Map<string, string>();
  #isText = false;

  /** `isStreamed` false: the server is asked for a whole answer. */
  constructor(model: LanguageModel, api: Api, isStreamed: boolean) {
    this.provider = model.provider;
    this.modelId = model.modelId;
    this.supportedUrls = model.supportedUrls;
    this.#model = model;
    this.#api = api;
    this.#isStreamed = isStreamed;
  }

  async doGenerate(options: CallOptions): Promise<WholeAnswer> {
    return await this.#model.doGenerate(this.#prepared(options));
  }

  /** The parts of the answer, also of one that the server gives whole: so both kinds become items in the same way. */
  async doStream(options: CallOptions): Promise<StreamedAnswer> {
    const { stream } = this.#isStreamed
      ? await this.#model.doStream(this.#prepared(options))
      : { stream: streamOf(await this.doGenerate(options)) };
    const parts = new TransformStream<StreamPart, StreamPart>({
      transform: (part, controller) => controller.enqueue(this.#part(part)),
    });
    return { stream: stream.pipeThrough(parts) };
  }

  #prepared(options: CallOptions): CallOptions {
    const prompt = nativePrompt(this.#api, options.prompt);
    this.#asked = JSON.stringify(prompt);
    return { ...options, prompt };
  }

  #part(part: StreamPart): StreamPart {
    switch (part.type) {
      case 'response-metadata':
        this.#answerId = part.id ?? this.#answerId;
        return part;
      case 'text-delta':
        this.#text(part.delta, part.providerMetadata);
        return part;
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
        return { ...part, id: this.#named(part.id) };
      case 'tool-call':
        this.#isText = false;
        return this.#call(part);
      case 'reasoning-delta':
        this.#isText = false;
        return part;
      case 'finish':
        this.#end(part.finishReason);
        return { ...part, usage: usageOf(this.#api, part.usage) };
      default:
        return part;
    }
  }

  #text(delta: string, metadata: Content['providerMetadata']): void {
    if (!this.#isText) this.texts.push({ text: '', signature: null });
    this.#isText = true;
    const last = this.texts.at(-1);
    if (last === undefined) return;
    last.text += delta;
    const signature = metadata?.[this.#api]?.['thoughtSignature'];
    if (typeof signature === 'string') last.signature = signature;
  }

  #call<T extends ToolCall>(call: T): T {
    if (call.providerExecuted === true)
      throw new ModelCallError('model_failed', `The server executed the tool "${call.toolName}" itself.`, {
        retryable: false,
        hint: 'Give the agent function tools only.',
      });
    return { ...call, toolCallId: this.#named(call.toolCallId) };
  }

  /** The same traffic gives the same ids: a call without an id is named after its answer and its place. */
  #named(id: string): string {
    if (!id.startsWith(UNNAMED)) return id;
    const place = this.#names.size;
    const name =
      this.#names.get(id) ?? `call_${sha256(JSON.stringify([this.#answerId ?? this.#asked, place])).slice(7, 31)}`;
    this.#names.set(id, name);
    return name;
  }

  /** Only a server that says why it ended has ended its answer. */
  #end(finish: FinishReason): void {
    if (finish.raw === undefined)
      throw new ModelCallError('model_failed', 'The answer is broken: it ended before it was done.', {
        retryable: true,
      });
    this.finish = finish;
  }
}

function streamOf({ response, content, finishReason, usage }: WholeAnswer): ReadableStream<StreamPart> {
  const parts = content.flatMap((part, index) => partsOf(part, String(index)));
  const head: StreamPart = { type: 'response-metadata', ...(response?.id === undefined ? {} : { id: response.id }) };
  return ReadableStream.from([head, ...parts, { type: 'finish', finishReason, usage } as const]);
}

function partsOf(part: Content, id: string): readonly StreamPart[] {
  if (part.type === 'text') {
    const { text: delta, ...rest } = part;
    return [{ ...rest, type: 'text-delta', id, delta }];
  }
  if (part.type === 'reasoning') {
    const { text: delta, ...rest } = part;
    return [
      { ...rest, type: 'reasoning-start', id },
      { ...rest, type: 'reasoning-delta', id, delta },
    ];
  }
  return [part];
}

/** Gemini counts what its tools read beside the prompt, and a total in which nothing is missing. */
function usageOf(api: Api, usage: TokenUsage): TokenUsage {
  if (api !== 'google') return usage;
  const { inputTokens, outputTokens, raw } = usage;
  const counted = (name: string): number => {
    const count = raw?.[name];
    return typeof count === 'number' && count > 0 ? count : 0;
  };
  const input = (inputTokens.total ?? 0) + counted('toolUsePromptTokenCount');
  const output = Math.max(outputTokens.total ?? 0, counted('totalTokenCount') - input);
  return { ...usage, inputTokens: { ...inputTokens, total: input }, outputTokens: { ...outputTokens, total: output } };
}
