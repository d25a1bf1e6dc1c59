import { type Answerer, cutInto, type Received, writePieces } from '../servers/wire-server.js';

/** What the model of a fake provider says: two parallel calls, then one call, then a text. */
export interface Turn {
  readonly number: 1 | 2 | 3;
  readonly thought: string;
  readonly calls: readonly { readonly id: string; readonly city: string }[];
  readonly text: string;
}

export const FINAL = 'Oslo 12, Rome 12 and Paris 12 degrees.';

export const thoughtOf = (turn: number): string => `Thought number ${turn}.`;

/** What a provider refuses, by its status and its body. */
export interface Refusal {
  readonly status: number;
  readonly body: object;
}

export type Body = Received['body'];
export type Message = Readonly<Record<string, unknown>>;

/** A provider as its documentation and the reports of its users describe it. */
export interface FakeProvider {
  readonly prefix: string;
  readonly model: string;
  /** The id of a call, as this provider writes it. */
  readonly idOf: (city: string) => string;
  /** Refuses what the real one refuses; null: the request is good. */
  readonly refuse: (body: Body) => Refusal | null;
  /** The message of a whole answer. */
  readonly message: (turn: Turn) => object;
  /** The deltas of a streamed answer. */
  readonly deltas: (turn: Turn) => readonly object[];
  readonly finish: (turn: Turn) => string;
  /** The usage of a turn as the provider says it, and what of it is to be charged. */
  readonly usage: (turn: Turn) => object;
  readonly charged: (turn: Turn) => { readonly inputTokens: number; readonly outputTokens: number };
  /** The last chunks of a stream: the end of the answer and the usage. */
  readonly ending?: (finish: string, usage: object, base: object) => readonly object[];
  /** Comments between the chunks. */
  readonly comment?: string;
}

export const messagesOf = (body: Body): readonly Message[] => body['messages'] as readonly Message[];
export const assistantsOf = (body: Body): readonly Message[] =>
  messagesOf(body).filter(({ role }) => role === 'assistant');
export const callsOf = (message: Message): readonly Message[] =>
  (message['tool_calls'] as readonly Message[] | undefined) ?? [];

/** Which fields an API knows. */
export interface Known {
  readonly body: readonly string[];
  readonly assistant: readonly string[];
  readonly call?: readonly string[];
}

const BODY = ['model', 'messages', 'stream', 'tools', 'tool_choice', 'temperature', 'top_p', 'parallel_tool_calls'];
export const bodyFields = (...more: string[]): string[] => [...BODY, ...more];
export const assistantFields = (...more: string[]): string[] => ['role', 'content', 'tool_calls', ...more];

const FIELDS: Record<string, readonly string[]> = {
  system: ['role', 'content', 'name'],
  user: ['role', 'content', 'name'],
  tool: ['role', 'content', 'tool_call_id', 'name'],
};

/** The path of the first field that an API does not know; null: it knows all of them. */
export function unknownField(body: Body, known: Known): readonly (string | number)[] | null {
  const extra = (value: Message, names: readonly string[]) => Object.keys(value).find((name) => !names.includes(name));
  const top = extra(body, known.body);
  if (top !== undefined) return [top];
  for (const [at, message] of messagesOf(body).entries()) {
    const role = String(message['role']);
    const field = extra(message, role === 'assistant' ? known.assistant : (FIELDS[role] ?? []));
    if (field !== undefined) return ['messages', at, role, field];
    for (const call of callsOf(message)) {
      const inCall = extra(call, known.call ?? ['id', 'type', 'function']);
      if (inCall !== undefined) return ['messages', at, role, 'tool_calls', inCall];
      const inFunction = extra(call['function'] as Message, ['name', 'arguments']);
      if (inFunction !== undefined) return ['messages', at, role, 'tool_calls', 'function', inFunction];
    }
    if (Array.isArray(message['content'])) {
      for (const part of message['content'] as Message[]) {
        const inPart = extra(part, ['type', 'text', 'image_url']);
        if (inPart !== undefined) return ['messages', at, role, 'content', inPart];
      }
    }
  }
  return null;
}

/** What every server of the API needs: each call has its result, and each result its call. */
export function brokenHistory(body: Body): string | null {
  const messages = messagesOf(body);
  for (const [at, message] of messages.entries()) {
    const ids = callsOf(message).map(({ id }) => id);
    const results = messages.slice(at + 1, at + 1 + ids.length).map((one) => one['tool_call_id']);
    if (JSON.stringify(ids) !== JSON.stringify(results)) return `calls ${ids} have the results ${results}`;
    for (const call of callsOf(message)) {
      const { arguments: text } = call['function'] as { arguments: unknown };
      if (typeof text !== 'string' || typeof JSON.parse(text) !== 'object') return `arguments of ${String(call['id'])}`;
    }
  }
  return null;
}

export const isTextual = (content: unknown): boolean => typeof content === 'string';

/** What the model says next, by the conversation. */
export type NextTurn = (provider: FakeProvider, body: Body) => Turn;

const scripted: NextTurn = (provider, body) => {
  const number = Math.min(3, assistantsOf(body).length + 1) as 1 | 2 | 3;
  const cities = [['Oslo', 'Rome'], ['Paris'], []][number - 1] ?? [];
  const calls = cities.map((city) => ({ id: provider.idOf(city), city }));
  return { number, thought: thoughtOf(number), calls, text: number === 3 ? FINAL : '' };
};

/** Calls the tool that it is offered, once; else it says one text. */
export const obliging =
  (text: string): NextTurn =>
  (provider, body) => {
    const before = assistantsOf(body).length;
    const number = Math.min(3, before + 1) as 1 | 2 | 3;
    const calls = before === 0 && 'tools' in body ? [{ id: provider.idOf('Oslo'), city: 'Oslo' }] : [];
    return { number, thought: thoughtOf(number), calls, text: calls.length > 0 ? '' : text };
  };

/** Serves a provider: refuses what it refuses, and says the turn that comes next. */
export const serves =
  (provider: FakeProvider, turnOf: NextTurn = scripted): Answerer =>
  async (response, { body }) => {
    const broken = brokenHistory(body);
    const refusal =
      provider.refuse(body) ?? (broken === null ? null : { status: 400, body: { error: { message: broken } } });
    if (refusal !== null) {
      response.writeHead(refusal.status, { 'content-type': 'application/json' }).end(JSON.stringify(refusal.body));
      return;
    }
    const turn = turnOf(provider, body);
    const { model } = provider;
    const id = `${provider.prefix}-answer-${turn.number}`;
    const finish = provider.finish(turn);
    const usage = provider.usage(turn);
    if (body['stream'] !== true) {
      const choices = [{ index: 0, message: provider.message(turn), finish_reason: finish }];
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ id, object: 'chat.completion', created: 1, model, choices, usage }));
      return;
    }
    const base = { id, object: 'chat.completion.chunk', created: 1, model };
    const piece = (delta: object) => ({ ...base, choices: [{ index: 0, delta, finish_reason: null }] });
    const ending = provider.ending ?? usageApart;
    const chunks = [...provider.deltas(turn).map(piece), ...ending(finish, usage, base)];
    const frames = chunks.map((chunk) => `${provider.comment ?? ''}data: ${JSON.stringify(chunk)}\n\n`).join('');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    await writePieces(response, cutInto(Buffer.from(`${frames}data: [DONE]\n\n`, 'utf8'), 97), 0);
    response.end();
  };

/** The end of the answer, and then the usage in a chunk without choices, as OpenAI does where `stream_options` ask for it. */
export const usageApart = (finish: string, usage: object, base: object): readonly object[] => [
  { ...base, choices: [{ index: 0, delta: {}, finish_reason: finish }] },
  { ...base, choices: [], usage },
];

/** Both in one chunk. */
export const usageAtEnd = (finish: string, usage: object, base: object): readonly object[] => [
  { ...base, choices: [{ index: 0, delta: { content: '' }, finish_reason: finish }], usage },
];

export const argumentsFor = (city: string): string => JSON.stringify({ city });

/** Calls in OpenAI's form: the id and the name come first, the arguments in pieces. */
export const callDeltas = (turn: Turn): readonly object[] =>
  turn.calls.flatMap(({ id, city }, index) => [
    { tool_calls: [{ index, id, type: 'function', function: { name: 'weather', arguments: '' } }] },
    ...[argumentsFor(city).slice(0, 6), argumentsFor(city).slice(6)].map((part) => ({
      tool_calls: [{ index, function: { arguments: part } }],
    })),
  ]);

export const textDeltas = ({ text }: Turn): readonly object[] => [...text].map((content) => ({ content }));

export const wholeCalls = (turn: Turn): readonly object[] =>
  turn.calls.map(({ id, city }) => ({
    ...{ id, type: 'function', function: { name: 'weather', arguments: argumentsFor(city) } },
  }));

export const callsOrStop = (turn: Turn): string => (turn.calls.length > 0 ? 'tool_calls' : 'stop');

/** Counts as OpenAI does: reasoning is a part of `completion_tokens`. */
export const plainUsage = (turn: Turn): object => ({
  prompt_tokens: 100 * turn.number,
  completion_tokens: 10 + turn.number,
  total_tokens: 100 * turn.number + 10 + turn.number,
});
export const plainCharge = (turn: Turn) => ({ inputTokens: 100 * turn.number, outputTokens: 10 + turn.number });
