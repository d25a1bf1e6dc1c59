import {
  argumentsFor,
  assistantsOf,
  callDeltas,
  callsOf,
  callsOrStop,
  type FakeProvider,
  plainCharge,
  plainUsage,
  type Turn,
  textDeltas,
  thoughtOf,
  usageAtEnd,
  wholeCalls,
} from './fake-provider.js';

/** Servers that take unknown fields, and what their models need back. */

type Field = 'reasoning' | 'reasoning_content';

const needsBack =
  (field: Field, status = 400): FakeProvider['refuse'] =>
  (body) => {
    const lost = assistantsOf(body).some((message, at) => message[field] !== thoughtOf(at + 1));
    return lost
      ? { status, body: { error: { message: `the thoughts of an earlier turn are missing: ${field}` } } }
      : null;
  };

const thinks = (prefix: string, model: string, field: Field): FakeProvider => ({
  prefix,
  model,
  idOf: (city) => `call_${city}`,
  refuse: needsBack(field),
  message: (turn) => ({
    role: 'assistant',
    content: turn.text || null,
    [field]: turn.thought,
    tool_calls: wholeCalls(turn),
  }),
  deltas: (turn) => [
    { role: 'assistant', content: '' },
    { [field]: turn.thought },
    ...textDeltas(turn),
    ...callDeltas(turn),
  ],
  finish: callsOrStop,
  usage: plainUsage,
  charged: plainCharge,
});

/** vLLM renamed `reasoning_content` to `reasoning` (vllm-project/vllm#27752) and renders it in the templates of thinking models. */
export const VLLM: FakeProvider = {
  ...thinks('vllm', 'moonshotai/Kimi-K2.5', 'reasoning'),
  idOf: (city) => `chatcmpl-tool-${city}`,
  message: (turn) => ({
    ...{ role: 'assistant', content: turn.text || null, refusal: null, annotations: null, audio: null },
    ...{ function_call: null, tool_calls: wholeCalls(turn), reasoning: turn.thought },
  }),
};

/** llama.cpp gives and takes `reasoning_content` (ggml-org/llama.cpp#21249); its chunks have `timings`. */
export const LLAMACPP: FakeProvider = {
  ...thinks('llamacpp', 'qwen3', 'reasoning_content'),
  ending: (finish, usage, base) => [
    { ...base, choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    { ...base, choices: [], usage, timings: { prompt_n: 1, predicted_n: 2 } },
  ],
};

/** LM Studio takes a `tool_choice` that is a word alone (lmstudio-ai/lmstudio-bug-tracker#670). */
export const LMSTUDIO: FakeProvider = {
  ...thinks('lmstudio', 'qwen3-4b', 'reasoning_content'),
  idOf: (city) => `${[...city].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7)}`,
  refuse: (body) =>
    typeof body['tool_choice'] === 'object'
      ? {
          status: 400,
          body: { error: "Invalid tool_choice type: 'object'. Supported string values: none, auto, required" },
        }
      : null,
};

/** Together AI gives `reasoning` and ends an answer with `eos` (docs.together.ai). */
export const TOGETHER: FakeProvider = {
  ...thinks('together', 'deepseek-ai/DeepSeek-V4-Pro', 'reasoning'),
  finish: (turn) => (turn.calls.length > 0 ? 'tool_calls' : 'eos'),
  ending: usageAtEnd,
};

/** OpenAI's own Chat Completions, without reasoning. */
export const OPENAI: FakeProvider = {
  ...thinks('openai', 'gpt-5-mini', 'reasoning'),
  refuse: (body) =>
    assistantsOf(body).some((message) =>
      Object.keys(message).some((name) => !['role', 'content', 'tool_calls'].includes(name)),
    )
      ? {
          status: 400,
          body: { error: { message: "Unknown parameter: 'messages[1].reasoning'.", type: 'invalid_request_error' } },
        }
      : null,
  message: (turn) => ({
    ...{ role: 'assistant', content: turn.text || null, refusal: null, annotations: [] },
    ...(turn.calls.length === 0 ? {} : { tool_calls: wholeCalls(turn) }),
  }),
  deltas: (turn) => [{ role: 'assistant', content: null, refusal: null }, ...textDeltas(turn), ...callDeltas(turn)],
};

/** The endpoint of Anthropic for programs of OpenAI. */
export const ANTHROPIC: FakeProvider = {
  ...OPENAI,
  prefix: 'anthropic',
  model: 'claude-sonnet-4-6',
  idOf: (city) => `toolu_${city}`,
};

/**
 * A gateway of which no one knows anything: each parallel call has the index 0 and no id (su-kaka/gcli2api#406), the usage stands in
 * the choice, the choice has no index, and the model wants its `reasoning_content` back, as Kimi does.
 */
export const GATEWAY: FakeProvider = {
  ...thinks('gateway', 'kimi', 'reasoning_content'),
  idOf: () => '',
  message: (turn) => ({
    role: 'assistant',
    content: turn.text,
    reasoning_content: turn.thought,
    tool_calls: bareCalls(turn),
  }),
  deltas: (turn) => [
    { reasoning_content: turn.thought },
    ...textDeltas(turn),
    ...bareCalls(turn).map((one) => ({ tool_calls: [{ ...one, index: 0 }] })),
  ],
  refuse: (body) => {
    const ids = assistantsOf(body)
      .flatMap(callsOf)
      .map(({ id }) => id);
    if (new Set(ids).size !== ids.length) return { status: 400, body: { detail: `ids come twice: ${ids}` } };
    return needsBack('reasoning_content')(body);
  },
  ending: (finish, usage, base) => [{ ...base, choices: [{ delta: {}, finish_reason: finish, usage }] }],
};

const bareCalls = (turn: Turn) =>
  turn.calls.map(({ city }) => ({ function: { name: 'weather', arguments: argumentsFor(city) } }));
