import type { AgentInputItem, ModelRequest, protocol } from '@openai/agents';
import { argumentsObject } from '../ollama/ollama-arguments.js';
import type { Dialect, PastTurn, Thought } from './dialect.js';
import { fieldsIn, isFields, type UnknownFields } from './dialect.js';

/**
 * A conversation as the API of a dialect takes it. What the model said becomes whole messages here, of the fields that the dialect
 * names and no other; the SDK passes such items on unchanged. What users, tools and the system said, the SDK converts.
 */
export function chatInput(dialect: Dialect, model: string, input: ModelRequest['input']): ModelRequest['input'] {
  if (typeof input === 'string') return input;
  const history = new History(dialect, model);
  for (const item of input) history.add(item);
  return history.end();
}

/** What the model said in one turn: the SDK keeps it as several items, Chat Completions as one message. */
interface Turn {
  text: string | null;
  own: UnknownFields;
  thoughts: protocol.ReasoningItem[];
  calls: protocol.FunctionCallItem[];
}

class History {
  readonly #dialect: Dialect;
  readonly #model: string;
  readonly #items: AgentInputItem[] = [];
  #turn: Turn | null = null;

  constructor(dialect: Dialect, model: string) {
    this.#dialect = dialect;
    this.#model = model;
  }

  add(item: AgentInputItem): void {
    if (item.type === 'reasoning') this.#think(item);
    else if (item.type === 'function_call' && isPlain(item)) this.#open().calls.push(item);
    else if (isSaid(item)) this.#say(item);
    else {
      this.#close();
      this.#items.push(item);
    }
  }

  end(): AgentInputItem[] {
    this.#close();
    return this.#items;
  }

  #open(): Turn {
    this.#turn ??= { text: null, own: {}, thoughts: [], calls: [] };
    return this.#turn;
  }

  #think(item: protocol.ReasoningItem): void {
    if (this.#turn !== null && (this.#turn.text !== null || this.#turn.calls.length > 0)) this.#close();
    this.#open().thoughts.push(item);
  }

  #say(item: protocol.AssistantMessageItem): void {
    if (this.#turn !== null && this.#turn.text !== null) this.#close();
    const turn = this.#open();
    turn.text = textOf(item.content);
    turn.own = ownFields(item.providerData);
  }

  /** Thoughts that led to nothing are left out: there is no message to put them on. */
  #close(): void {
    const turn = this.#turn;
    this.#turn = null;
    if (turn === null || ((turn.text ?? '') === '' && turn.calls.length === 0)) return;
    const past: PastTurn = {
      model: this.#model,
      text: turn.text,
      thought: thoughtOf(turn.thoughts),
      calls: turn.calls.map(({ providerData }) => keptOf(providerData)),
    };
    const message = {
      ...turn.own,
      role: 'assistant',
      content: turn.text || this.#dialect.emptyContent,
      ...this.#dialect.turnFields(past),
      ...(turn.calls.length === 0 ? {} : { tool_calls: turn.calls.map((call, at) => this.#call(past, call, at)) }),
    };
    this.#items.push({ type: 'unknown', providerData: message });
  }

  #call(past: PastTurn, call: protocol.FunctionCallItem, at: number): UnknownFields {
    return {
      id: call.callId,
      type: 'function',
      function: { name: nameOf(call), arguments: argumentsOf(call) },
      ...this.#dialect.callFields(past, at),
    };
  }
}

/** What the SDK refuses by name stays with the SDK. */
const isPlain = ({ namespace, caller }: protocol.FunctionCallItem): boolean =>
  !namespace?.trim() && caller?.type !== 'program';

function isSaid(item: AgentInputItem): item is protocol.AssistantMessageItem {
  if (!('role' in item) || item.role !== 'assistant') return false;
  // Sound goes back by the id that the SDK knows.
  return !(Array.isArray(item.content) && item.content.some(({ type }) => type === 'audio'));
}

const textOf = (content: protocol.AssistantMessageItem['content']): string =>
  typeof content === 'string'
    ? content
    : content
        .map((part) => (part.type === 'output_text' ? part.text : part.type === 'refusal' ? part.refusal : ''))
        .join('');

const RESERVED: ReadonlySet<string> = new Set(['role', 'content', 'tool_calls', 'audio', 'phase', 'annotations']);

/** Fields that a program has put on a message of its own. */
const ownFields = (providerData: unknown): UnknownFields =>
  Object.fromEntries(Object.entries(fieldsIn(providerData)).filter(([name]) => !RESERVED.has(name)));

const keptOf = (providerData: unknown): UnknownFields => {
  const extra = fieldsIn(providerData)['extra_content'];
  return isFields(extra) ? { extra_content: extra } : {};
};

const textOfPart = ({ text }: { readonly text: string }): string => text;

function thoughtOf(items: readonly protocol.ReasoningItem[]): Thought | null {
  if (items.length === 0) return null;
  const data = items.map(({ providerData }) => fieldsIn(providerData));
  const field = data.map((one) => one['field']).find((one) => one === 'reasoning' || one === 'reasoning_content');
  return {
    text: items
      .flatMap(({ rawContent, content }) =>
        (rawContent === undefined || rawContent.length === 0 ? content : rawContent).map(textOfPart),
      )
      .join('\n'),
    field: field ?? null,
    details: data.flatMap((one) =>
      Array.isArray(one['reasoning_details']) ? one['reasoning_details'].filter(isFields) : [],
    ),
  };
}

/** A model may call a name that no tool has; servers refuse a history with characters that they do not know. */
const nameOf = ({ name }: protocol.FunctionCallItem): string =>
  /^[a-zA-Z0-9_-]{1,64}$/.test(name) ? name : name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || '_';

/** Some servers parse the arguments of earlier calls, and refuse what is not the JSON of an object. */
function argumentsOf({ arguments: text }: protocol.FunctionCallItem): string {
  const { value, parsed } = argumentsObject(text);
  return parsed && text.trimStart().startsWith('{') ? text : JSON.stringify(value);
}
