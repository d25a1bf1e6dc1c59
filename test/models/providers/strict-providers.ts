import {
  argumentsFor,
  assistantFields,
  assistantsOf,
  bodyFields,
  callDeltas,
  callsOf,
  callsOrStop,
  type FakeProvider,
  isTextual,
  type Message,
  messagesOf,
  plainCharge,
  plainUsage,
  type Refusal,
  type Turn,
  textDeltas,
  thoughtOf,
  unknownField,
  usageAtEnd,
  wholeCalls,
} from './fake-provider.js';

/** Providers that refuse what their schema does not have, or that need something back. */

const plain = {
  message: (turn: Turn) => ({ role: 'assistant', content: turn.text || null, tool_calls: wholeCalls(turn) }),
};

const needsText = (body: Parameters<FakeProvider['refuse']>[0]): number =>
  messagesOf(body).findIndex(({ role, content }) => role !== 'user' && !isTextual(content));

/**
 * Mistral. `type` is left out of calls (openai-php/client#744, agentjido/req_llm#373), calls come whole in one delta, the usage with the
 * end. Unknown fields are 422 `extra_forbidden` (charmbracelet/crush#1590, editor-code-assistant/eca#231), also
 * `max_completion_tokens` and `stream_options`; ids of calls have nine letters and digits.
 */
export const MISTRAL: FakeProvider = {
  prefix: 'mistral',
  model: 'mistral-medium-latest',
  idOf: (city) => `mis${city}`.padEnd(9, '0').slice(0, 9),
  refuse: (body) => {
    const known = { body: bodyFields('max_tokens', 'response_format'), assistant: assistantFields('prefix') };
    const field = unknownField(body, known);
    const wrong = field ?? (hasOddId(body) ? ['messages', 'tool_call_id'] : null);
    if (wrong === null) return null;
    const detail = [{ type: 'extra_forbidden', loc: ['body', ...wrong], msg: 'Extra inputs are not permitted' }];
    return { status: 422, body: { object: 'error', message: { detail }, type: 'invalid_request_error' } };
  },
  message: (turn) => ({
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: [{ type: 'text', text: turn.thought }] },
      ...(turn.text === '' ? [] : [{ type: 'text', text: turn.text }]),
    ],
    tool_calls: turn.calls.length === 0 ? null : untypedCalls(turn),
  }),
  deltas: (turn) => [
    { role: 'assistant', content: '' },
    { content: [{ type: 'thinking', thinking: [{ type: 'text', text: turn.thought }] }] },
    ...textDeltas(turn),
    ...(turn.calls.length === 0 ? [] : [{ content: '', tool_calls: untypedCalls(turn) }]),
  ],
  finish: callsOrStop,
  usage: plainUsage,
  charged: plainCharge,
  ending: usageAtEnd,
};

const untypedCalls = (turn: Turn) =>
  turn.calls.map(({ id, city }, index) => ({
    id,
    function: { name: 'weather', arguments: argumentsFor(city) },
    index,
  }));

const hasOddId = (body: Parameters<FakeProvider['refuse']>[0]): boolean =>
  assistantsOf(body).some((message) => callsOf(message).some(({ id }) => !/^[A-Za-z0-9]{9}$/.test(String(id))));

/**
 * Groq: "property 'reasoning_content' is unsupported" (janhq/jan#8136), and `reasoning` for many models (karthink/gptel#774). The
 * usage of a stream is in `x_groq`.
 */
export const GROQ: FakeProvider = {
  prefix: 'groq',
  model: 'openai/gpt-oss-120b',
  idOf: (city) => `fc_${city}`,
  refuse: (body) => {
    const known = {
      body: bodyFields('max_completion_tokens', 'stream_options', 'response_format'),
      assistant: assistantFields(),
    };
    const field = unknownField(body, known);
    const at = needsText(body);
    if (field === null && at === -1) return null;
    const what =
      field === null
        ? `'messages.${at}.content' : value must be a string`
        : `property '${field.at(-1)}' is unsupported`;
    return { status: 400, body: { error: { message: what, type: 'invalid_request_error' } } };
  },
  message: (turn) => ({
    role: 'assistant',
    ...(turn.text === '' ? {} : { content: turn.text }),
    reasoning: turn.thought,
    ...(turn.calls.length === 0 ? {} : { tool_calls: wholeCalls(turn) }),
  }),
  deltas: (turn) => [
    { role: 'assistant', content: null },
    { reasoning: turn.thought, channel: 'analysis' },
    ...textDeltas(turn),
    ...(turn.calls.length === 0 ? [] : [{ tool_calls: wholeCalls(turn).map((one, index) => ({ ...one, index })) }]),
  ],
  finish: callsOrStop,
  usage: plainUsage,
  charged: plainCharge,
  ending: (finish, usage, base) => [
    { ...base, choices: [{ index: 0, delta: {}, finish_reason: finish }], x_groq: { id: 'req_1', usage } },
  ],
};

/**
 * Cerebras: unknown properties are 400 `wrong_api_format` (Kilo-Org/kilocode#10375); reasoning goes back as `reasoning`
 * (vercel/ai#15042).
 */
export const CEREBRAS: FakeProvider = {
  prefix: 'cerebras',
  model: 'zai-glm-4.7',
  idOf: (city) => `cb${city}`,
  refuse: (body) => {
    const known = {
      body: bodyFields('max_completion_tokens', 'stream_options', 'response_format'),
      assistant: assistantFields('reasoning'),
    };
    const field = unknownField(body, known);
    if (field === null) return null;
    const message = `${field.join('.')}: property '${field.join('.')}' is unsupported`;
    const error = { message, type: 'invalid_request_error', param: 'validation_error', code: 'wrong_api_format' };
    return { status: 400, body: error };
  },
  message: (turn) => ({ ...plain.message(turn), reasoning: turn.thought }),
  deltas: (turn) => [
    { role: 'assistant' },
    { reasoning: turn.thought },
    ...textDeltas(turn),
    ...(turn.calls.length === 0 ? [] : [{ tool_calls: wholeCalls(turn).map((one, index) => ({ ...one, index })) }]),
  ],
  finish: callsOrStop,
  usage: (turn) => ({ ...plainUsage(turn), prompt_tokens_details: { cached_tokens: 0 } }),
  charged: plainCharge,
  ending: (finish, usage, base) => [
    { ...base, choices: [{ index: 0, delta: {}, finish_reason: finish }], usage, time_info: { total_time: 0.1 } },
  ],
};

/** Fireworks: "Extra inputs are not permitted" (FlowiseAI/Flowise#2866); reasoning is `reasoning_content` (docs.fireworks.ai). */
export const FIREWORKS: FakeProvider = {
  prefix: 'fireworks',
  model: 'accounts/fireworks/models/deepseek-v4-flash',
  idOf: (city) => `call_${city}`,
  refuse: (body) => {
    const known = {
      body: bodyFields('max_tokens', 'response_format', 'reasoning_effort'),
      assistant: assistantFields('reasoning_content'),
    };
    const field = unknownField(body, known);
    if (field === null) return null;
    const message = `Extra inputs are not permitted, field: '${field.join('.')}'`;
    return { status: 400, body: { error: { object: 'error', type: 'invalid_request_error', message } } };
  },
  message: (turn) => ({ ...plain.message(turn), reasoning_content: turn.thought }),
  deltas: (turn) => [
    { role: 'assistant' },
    { reasoning_content: turn.thought },
    ...textDeltas(turn),
    ...callDeltas(turn),
  ],
  finish: callsOrStop,
  usage: plainUsage,
  charged: plainCharge,
  ending: usageAtEnd,
};

/**
 * DeepSeek in thinking mode: each answer of the history needs its `reasoning_content` (continuedev/continue#10193,
 * earendil-works/pi#3636). What came from its cache is `prompt_cache_hit_tokens`.
 */
export const DEEPSEEK: FakeProvider = {
  prefix: 'deepseek',
  model: 'deepseek-v4-pro',
  idOf: (city) => `call_00_${city}`,
  refuse: (body) => {
    const bad = assistantsOf(body).some((message, at) => message['reasoning_content'] !== thoughtOf(at + 1));
    if (!bad && needsText(body) === -1) return null;
    const message = 'The `reasoning_content` in the thinking mode must be passed back to the API.';
    return { status: 400, body: { error: { message, type: 'invalid_request_error', code: 'invalid_request_error' } } };
  },
  message: (turn) => ({
    ...{ role: 'assistant', content: turn.text, reasoning_content: turn.thought },
    ...(turn.calls.length === 0 ? {} : { tool_calls: wholeCalls(turn).map((one, index) => ({ index, ...one })) }),
  }),
  deltas: (turn) => [
    { role: 'assistant', content: null, reasoning_content: '' },
    ...[...turn.thought].map((reasoning_content) => ({ content: null, reasoning_content })),
    ...textDeltas(turn).map((delta) => ({ ...delta, reasoning_content: null })),
    ...callDeltas(turn),
  ],
  finish: callsOrStop,
  usage: (turn) => ({
    ...plainUsage(turn),
    prompt_cache_hit_tokens: 64,
    prompt_cache_miss_tokens: 100 * turn.number - 64,
    completion_tokens_details: { reasoning_tokens: 5 },
  }),
  charged: plainCharge,
  ending: usageAtEnd,
};

/** xAI: `completion_tokens` leave reasoning out, `total_tokens` have it (vercel/ai#12425, Wei-Shaw/sub2api#5771). */
export const XAI: FakeProvider = {
  prefix: 'xai',
  model: 'grok-4.20',
  idOf: (city) => `call_${city}`,
  refuse: (body) => {
    const known = { body: bodyFields('max_tokens', 'stream_options', 'response_format'), assistant: assistantFields() };
    const field = unknownField(body, known);
    return field === null
      ? null
      : { status: 400, body: { code: 'Client specified an invalid argument', error: field.join('.') } };
  },
  message: (turn) => ({
    role: 'assistant',
    content: turn.text,
    refusal: null,
    tool_calls: wholeCalls(turn),
    reasoning_content: turn.thought,
  }),
  deltas: (turn) => [
    { role: 'assistant', reasoning_content: turn.thought },
    ...textDeltas(turn),
    ...(turn.calls.length === 0 ? [] : [{ tool_calls: wholeCalls(turn).map((one, index) => ({ ...one, index })) }]),
  ],
  finish: callsOrStop,
  usage: () => ({
    ...{ prompt_tokens: 10_120, completion_tokens: 1_499, total_tokens: 14_428 },
    prompt_tokens_details: { cached_tokens: 128 },
    completion_tokens_details: { reasoning_tokens: 2_809 },
  }),
  charged: () => ({ inputTokens: 10_120, outputTokens: 4_308 }),
};

const SIGNATURE = 'EjQKMgEMOdbHJChLX75QUCJj';

/**
 * Google: no `index` in the calls of a stream, a signature on the first of parallel calls, `stop` after calls, and a signature that
 * has to come back (noho/dayu-agent#45, open-webui/computer#224, microclaw/microclaw#230). `total_tokens` has the thoughts.
 */
export const GOOGLE: FakeProvider = {
  prefix: 'google',
  model: 'gemini-3-pro-preview',
  idOf: (city) => `function-call-${city}`,
  refuse: (body) => {
    const known = {
      body: bodyFields('max_tokens', 'stream_options', 'response_format', 'reasoning_effort'),
      assistant: assistantFields(),
      call: ['id', 'type', 'function', 'extra_content'],
    };
    const field = unknownField(body, known);
    if (field !== null) return ofGoogle(`Invalid JSON payload received. Unknown name "${field.at(-1)}"`);
    const unsigned = assistantsOf(body).some((message) => {
      const [first] = callsOf(message);
      return first !== undefined && signatureOf(first) !== SIGNATURE;
    });
    return unsigned ? ofGoogle('Function call is missing a thought_signature in functionCall parts.') : null;
  },
  message: (turn) => ({
    role: 'assistant',
    ...(turn.text === '' ? {} : { content: turn.text }),
    ...(turn.calls.length === 0 ? {} : { tool_calls: signedCalls(turn) }),
  }),
  deltas: (turn) => [
    ...signedCalls(turn).map((one) => ({ role: 'assistant', tool_calls: [one] })),
    ...textDeltas(turn).map((delta) => ({ role: 'assistant', ...delta })),
  ],
  finish: () => 'stop',
  usage: (turn) => ({ prompt_tokens: 100, completion_tokens: 10, total_tokens: 160 + turn.number }),
  charged: (turn) => ({ inputTokens: 100, outputTokens: 60 + turn.number }),
  ending: usageAtEnd,
};

/** Google puts the object into a list. */
const ofGoogle = (message: string): Refusal => ({
  status: 400,
  body: [{ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }],
});

const signedCalls = (turn: Turn) =>
  turn.calls.map(({ id, city }, at) => ({
    ...(at === 0 ? { extra_content: { google: { thought_signature: SIGNATURE } } } : {}),
    ...{ function: { arguments: argumentsFor(city), name: 'weather' }, id, type: 'function' },
  }));

const signatureOf = (call: Message): unknown =>
  (call['extra_content'] as { google?: { thought_signature?: string } } | undefined)?.google?.thought_signature;

/**
 * OpenRouter: `reasoning_details` go back as they came, in their order (openrouter.ai/docs, anomalyco/opencode#4367); a stream has
 * comments while it waits.
 */
export const OPENROUTER: FakeProvider = {
  prefix: 'openrouter',
  model: 'anthropic/claude-sonnet-4.6',
  idOf: (city) => `toolu_${city}`,
  refuse: (body) => {
    const wrong = assistantsOf(body).findIndex(
      (message, at) => JSON.stringify(message['reasoning_details']) !== JSON.stringify(detailsOf(thoughtOf(at + 1))),
    );
    if (wrong === -1) return null;
    return {
      status: 400,
      body: { error: { code: 400, message: `messages.${wrong}: reasoning_details were changed` } },
    };
  },
  message: (turn) => ({
    ...plain.message(turn),
    ...{ refusal: null, reasoning: turn.thought, reasoning_details: detailsOf(turn.thought) },
  }),
  deltas: (turn) => [
    { role: 'assistant', content: '' },
    ...[turn.thought.slice(0, 5), turn.thought.slice(5)].map((text) => ({
      ...{ role: 'assistant', content: '', reasoning: text },
      reasoning_details: [{ type: 'reasoning.text', text, format: 'anthropic-claude-v1', index: 0 }],
    })),
    {
      content: '',
      reasoning: null,
      reasoning_details: [{ type: 'reasoning.text', signature: 'sig', format: 'anthropic-claude-v1', index: 0 }],
    },
    { content: '', reasoning_details: [{ type: 'reasoning.encrypted', data: 'opaque', index: 1 }] },
    ...textDeltas(turn),
    ...callDeltas(turn),
  ],
  finish: callsOrStop,
  usage: (turn) => ({ ...plainUsage(turn), cost: 0.01, prompt_tokens_details: { cached_tokens: 10 } }),
  charged: plainCharge,
  comment: ': OPENROUTER PROCESSING\n\n',
};

const detailsOf = (text: string) => [
  { type: 'reasoning.text', text, format: 'anthropic-claude-v1', index: 0, signature: 'sig' },
  { type: 'reasoning.encrypted', data: 'opaque', index: 1 },
];
