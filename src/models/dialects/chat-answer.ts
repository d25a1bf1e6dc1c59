import { type ModelResponse, type protocol, Usage } from '@openai/agents';
import { messageIn } from '../failures/error-answer.js';
import { failureText } from '../failures/failure-text.js';
import { CutAnswer, ModelCallError } from '../failures/model-call-error.js';
import { emptyAnswer, finishReasonOf, isCutReason, isEmptyAnswer, isFailedReason } from '../providers/answer-terms.js';
import { type CallPiece, ChatCalls, type OpenCall } from './chat-calls.js';
import { type Dialect, fieldsIn, isFields, type Thought, textIn, type UnknownFields } from './dialect.js';

/** Puts the reasoning of one answer together, in whatever fields it comes. */
class ChatThoughts {
  readonly #texts: string[] = [];
  readonly #details: Record<string, unknown>[] = [];
  #field: Thought['field'] = null;

  /** Takes the reasoning of a message or of a piece of one, and of parts of its content. Gives what is new of the text. */
  add(message: UnknownFields, inContent: string): string {
    const details = Array.isArray(message['reasoning_details']) ? message['reasoning_details'].filter(isFields) : [];
    for (const detail of details) this.#addDetail(detail);
    // Some give the same text under both names.
    const field = (['reasoning', 'reasoning_content'] as const).find((name) => textIn(message, name) !== '');
    if (field !== undefined) this.#field ??= field;
    const said = field === undefined ? '' : textIn(message, field);
    const text =
      said || inContent || details.map((detail) => textIn(detail, 'text') || textIn(detail, 'summary')).join('');
    if (text !== '') this.#texts.push(text);
    return text;
  }

  /** Null: the model said nothing of what it thought. */
  get thought(): Thought | null {
    const text = this.#texts.join('');
    if (text === '' && this.#details.length === 0) return null;
    return { text, field: this.#field, details: this.#details };
  }

  /** A stream gives the text of one entry in many pieces; the signature comes with the last one. */
  #addDetail(detail: UnknownFields): void {
    const last = this.#details.at(-1);
    const name =
      detail['type'] === 'reasoning.text' ? 'text' : detail['type'] === 'reasoning.summary' ? 'summary' : null;
    if (name === null || last === undefined || last['type'] !== detail['type'] || last['index'] !== detail['index']) {
      this.#details.push({ ...detail });
      return;
    }
    const given = Object.fromEntries(Object.entries(detail).filter(([, value]) => value !== null));
    Object.assign(last, given, { [name]: textIn(last, name) + textIn(detail, name) });
  }
}

/** A count of tokens; null where the server gave none. */
const count = (fields: UnknownFields, ...names: readonly string[]): number | null => {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  }
  return null;
};

/**
 * Returns what an answer used; null where the server does not say both sides. `total_tokens` is what a provider charges by, so
 * tokens of the total that neither side has are counted: as input where exactly the cached ones are missing, else as output.
 */
export function chatUsage(raw: unknown, dialect: Dialect): Usage | null {
  const said = fieldsIn(raw);
  const ofInput = fieldsIn(said['prompt_tokens_details'] ?? said['input_tokens_details']);
  const ofOutput = fieldsIn(said['completion_tokens_details'] ?? said['output_tokens_details']);
  const cached =
    count(ofInput, 'cached_tokens') ??
    count(said, 'prompt_cache_hit_tokens', 'cached_tokens', 'cache_read_input_tokens') ??
    0;
  const written = count(ofInput, 'cache_write_tokens') ?? count(said, 'cache_creation_input_tokens') ?? 0;
  const reasoning = count(ofOutput, 'reasoning_tokens') ?? count(said, 'reasoning_tokens');
  const total = count(said, 'total_tokens') || null;
  let input = count(said, 'prompt_tokens', 'input_tokens');
  let output = count(said, 'completion_tokens', 'output_tokens');
  if (input === null && output !== null && total !== null) input = Math.max(0, total - output);
  if (output === null && input !== null && total !== null) output = Math.max(0, total - input);
  if (input === null || output === null || input + output === 0) return null;
  const missing = total === null ? 0 : total - input - output;
  if (missing > 0 && missing === cached + written && missing !== reasoning) input += missing;
  else if (missing > 0) output += missing;
  else if (total === null && reasoning !== null && (dialect.reasoningBeside || reasoning > output)) output += reasoning;
  return new Usage({
    requests: 1,
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output,
    inputTokensDetails: { cached_tokens: cached, ...(written === 0 ? {} : { cache_write_tokens: written }) },
    outputTokensDetails: { reasoning_tokens: Math.min(reasoning ?? Math.max(0, missing), output) },
  });
}

const WITHHELD = "The provider's content filter withheld the answer.";

/**
 * One answer of a server of Chat Completions. A whole message and the pieces of a stream go through the same code: a whole message
 * is one piece. `take` gives each piece on in the form of OpenAI, for the SDK; `response` gives the answer itself.
 */
export class ChatAnswer {
  readonly #dialect: Dialect;
  readonly #calls = new ChatCalls();
  readonly #thoughts = new ChatThoughts();
  readonly #texts: string[] = [];
  readonly #refusals: string[] = [];
  readonly #annotations: unknown[] = [];
  #id: string | null = null;
  #model: string | null = null;
  #usage: unknown = null;
  #reason: string | null = null;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** Throws for what is no answer of Chat Completions, and for an error that came in place of one. */
  take(raw: unknown, form: 'message' | 'delta'): UnknownFields {
    const chunk = fieldsIn(raw);
    const choices = Array.isArray(chunk['choices']) ? chunk['choices'].filter(isFields) : [];
    const choice = choices.find((one) => (one['index'] ?? 0) === 0);
    if (form === 'message' && !isFields(choice?.['message'])) throw notAnAnswer(raw);
    this.#id ??= textIn(chunk, 'id') || null;
    this.#model ??= textIn(chunk, 'model') || null;
    this.#keepUsage(chunk['usage'] ?? fieldsIn(chunk['x_groq'])['usage'] ?? choice?.['usage']);
    if (choice === undefined) return chunk;
    this.#end(choice);
    const said = this.#said(fieldsIn(choice[form]), form);
    return { ...chunk, choices: [...choices.filter((one) => one !== choice), { ...choice, index: 0, [form]: said }] };
  }

  /** Whether the server said that the answer is over. */
  get isOver(): boolean {
    return this.#reason !== null;
  }

  /** `sdk`: the answer as the SDK read it, which alone reads sound. Throws for an answer that says nothing, and a CutAnswer for one that was cut before it said anything of use. */
  response(sdk: ModelResponse['output']): Pick<ModelResponse, 'usage' | 'output' | 'providerData'> {
    const calls = this.#calls.all.filter(({ name }) => name !== '');
    const reason = this.#reason === 'stop' && calls.length > 0 ? 'tool_calls' : (this.#reason ?? 'stop');
    const isCut = isCutReason(reason);
    const usage = chatUsage(this.#usage, this.#dialect);
    const cutCalls = isCut ? calls.map(({ name }) => name) : [];
    const output = [
      ...this.#thoughtItems(),
      ...this.#messageItems(reason),
      ...sdk.filter(isSpoken),
      ...(isCut ? [] : this.#callItems(calls)),
    ];
    const response = {
      usage: usage ?? new Usage({ requests: 1 }),
      output,
      providerData: {
        finishReason: reason,
        ...(this.#model === null ? {} : { model: this.#model }),
        ...(usage === null ? { usageUnknown: true } : {}),
        ...(cutCalls.length === 0 ? {} : { cutCalls }),
      },
    };
    if (!isEmptyAnswer(output) && cutCalls.length === 0) return response;
    if (isCut) throw new CutAnswer(response, this.#id);
    throw emptyAnswer(usage);
  }

  #keepUsage(usage: unknown): void {
    // Some send a last piece in which every count is 0.
    if (isFields(usage) && (this.#usage === null || chatUsage(usage, this.#dialect) !== null)) this.#usage = usage;
  }

  #end(choice: UnknownFields): void {
    const word = textIn(choice, 'finish_reason');
    if (word === '') return;
    const reason = finishReasonOf(word);
    if (isFailedReason(reason) || isFields(choice['error'])) {
      const said = failureText(messageIn(choice) ?? `it ended with "${word}"`);
      throw new ModelCallError('model_failed', `The answer broke off: ${said}.`, { retryable: true });
    }
    this.#reason = reason;
  }

  #said(message: UnknownFields, form: 'message' | 'delta'): UnknownFields {
    const { text, thinking } = contentIn(message['content']);
    const reasoning = this.#thoughts.add(message, thinking);
    const refusal = textIn(message, 'refusal');
    if (text !== '') this.#texts.push(text);
    if (refusal !== '') this.#refusals.push(refusal);
    if (Array.isArray(message['annotations'])) this.#annotations.push(...message['annotations']);
    const pieces = form === 'message' ? 'addWhole' : 'addPiece';
    const calls = this.#calls[pieces](message['tool_calls']).map((piece) => this.#shown(piece));
    const custom = Array.isArray(message['tool_calls']) ? message['tool_calls'].filter(isCustom) : [];
    const { reasoning: _reasoning, tool_calls: _calls, ...rest } = message;
    return {
      ...rest,
      content: text === '' && form === 'message' ? null : text,
      ...(reasoning === '' ? {} : { reasoning }),
      ...(calls.length + custom.length === 0 ? {} : { tool_calls: [...calls, ...custom] }),
    };
  }

  #thoughtItems(): protocol.ReasoningItem[] {
    const { thought } = this.#thoughts;
    if (thought === null) return [];
    const { text, field, details } = thought;
    const own = { ...(field && { field }), ...(details.length > 0 && { reasoning_details: [...details] }) };
    return [
      {
        type: 'reasoning',
        content: [],
        rawContent: text === '' ? [] : [{ type: 'reasoning_text', text }],
        ...(Object.keys(own).length === 0 ? {} : { providerData: own }),
      },
    ];
  }

  #messageItems(reason: string): protocol.AssistantMessageItem[] {
    const text = this.#texts.join('');
    const refusal = this.#refusals.join('');
    const annotations = this.#annotations.length === 0 ? {} : { providerData: { annotations: this.#annotations } };
    const content: protocol.AssistantMessageItem['content'] = [
      ...(text.trim() === '' ? [] : [{ type: 'output_text' as const, text, ...annotations }]),
      ...(refusal === '' ? [] : [{ type: 'refusal' as const, refusal }]),
    ];
    if (content.length === 0 && reason === 'content_filter') content.push({ type: 'refusal', refusal: WITHHELD });
    if (content.length === 0) return [];
    const isCut = isCutReason(reason);
    const id = this.#id === null ? {} : { id: this.#id };
    return [{ type: 'message', ...id, role: 'assistant', content, status: isCut ? 'incomplete' : 'completed' }];
  }

  /** A missing id is made of that of the answer. */
  #callId({ id, place }: OpenCall): string {
    return id ?? `call_${this.#id ?? 'answer'}_${place}`;
  }

  /** A piece of a call in the form of OpenAI. */
  #shown({ call, name, arguments: text }: CallPiece): UnknownFields {
    return { index: call.place, id: this.#callId(call), type: 'function', function: { name, arguments: text } };
  }

  #callItems(calls: readonly OpenCall[]): protocol.FunctionCallItem[] {
    return calls.map((call) => {
      const { name, arguments: text, kept } = call;
      return {
        type: 'function_call',
        callId: this.#callId(call),
        name,
        arguments: text.trim() === '' ? '{}' : text,
        status: 'completed',
        ...(Object.keys(kept).length === 0 ? {} : { providerData: { ...kept } }),
      };
    });
  }
}

const isSpoken = (item: ModelResponse['output'][number]): boolean =>
  item.type === 'message' && Array.isArray(item.content) && item.content.some(({ type }) => type === 'audio');

const isCustom = (entry: unknown): boolean => isFields(entry) && entry['type'] === 'custom';

/** The content of a message: a text, or a list of parts, some of them thinking. */
function contentIn(content: unknown): { readonly text: string; readonly thinking: string } {
  if (typeof content === 'string') return { text: content, thinking: '' };
  const parts = Array.isArray(content) ? content.filter(isFields) : [];
  const textOf = (part: UnknownFields): string => textIn(part, 'text');
  return {
    text: parts
      .filter(({ type }) => type !== 'thinking')
      .map(textOf)
      .join(''),
    thinking: parts
      .filter(({ type }) => type === 'thinking')
      .map(({ thinking }) =>
        typeof thinking === 'string'
          ? thinking
          : (Array.isArray(thinking) ? thinking.filter(isFields) : []).map(textOf).join(''),
      )
      .join(''),
  };
}

function notAnAnswer(raw: unknown): Error {
  const error = fieldsIn(fieldsIn(raw)['error']);
  const said = failureText(messageIn(raw) ?? (typeof raw === 'string' ? raw : (JSON.stringify(raw) ?? '')));
  return Object.assign(new Error(`The answer is not one of Chat Completions: ${said}`), { status: error['code'] });
}
