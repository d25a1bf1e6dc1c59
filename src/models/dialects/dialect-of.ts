import { MODEL_PROVIDERS } from '../../core/models/model-provider-table.js';
import {
  type Dialect,
  fieldsIn,
  isFields,
  type PastTurn,
  STANDARD,
  textIn,
  thoughtAs,
  type UnknownFields,
} from './dialect.js';

/**
 * The dialect of servers that the provider table does not know. A server gets back the fields of its own under the names under which
 * it gave them, and only for turns of its own: what it gave, it can be expected to take. Fields that it never gave are not sent.
 */
const TOLERANT: Dialect = {
  ...STANDARD,
  name: 'tolerant',
  turnFields: thoughtAsGiven,
  callFields: ({ calls }, index) => calls[index] ?? {},
};

function thoughtAsGiven({ thought }: PastTurn): UnknownFields {
  if (thought === null) return {};
  return {
    ...(thought.field === null || thought.text === '' ? {} : { [thought.field]: thought.text }),
    ...(thought.details.length === 0 ? {} : { reasoning_details: thought.details }),
  };
}

/** Cerebras refuses `reasoning_content` with 400 `wrong_api_format`, and takes reasoning back as `reasoning`. */
const CEREBRAS: Dialect = { ...STANDARD, name: 'cerebras', turnFields: thoughtAs('reasoning') };

/**
 * DeepSeek in thinking mode refuses a history in which an answer has no `reasoning_content` with 400. Answers of other providers,
 * and those before which the model did not think, have an empty one.
 */
const DEEPSEEK: Dialect = {
  ...STANDARD,
  name: 'deepseek',
  emptyContent: '',
  turnFields: ({ thought }) => ({ reasoning_content: thought?.text ?? '' }),
};

/** Fireworks gives reasoning as `reasoning_content`, takes it back under that name, and refuses fields that it does not know. */
const FIREWORKS: Dialect = { ...STANDARD, name: 'fireworks', turnFields: thoughtAs('reasoning_content') };

/** What Google's documentation gives for calls that Gemini did not make itself, and so did not sign. */
const UNSIGNED = 'skip_thought_signature_validator';

/** Models that refuse a turn whose first call has no signature. */
const SIGNS = /(?:^|\/)gemini-(?:[3-9]|\d\d)/;

/**
 * Gemini signs its calls in `extra_content.google.thought_signature` and refuses a turn whose signature is missing with 400. Of
 * parallel calls the first one alone has a signature. Its streams leave out the `index` of calls, or repeat it.
 */
const GOOGLE: Dialect = {
  ...STANDARD,
  name: 'google',
  callFields: ({ model, calls }, index) => {
    const own = calls[index] ?? {};
    if (index !== 0 || !SIGNS.test(model) || calls.some(isSigned)) return own;
    return { extra_content: { google: { thought_signature: UNSIGNED } } };
  },
};

/** Vertex calls the same field by its own name. */
const isSigned = (call: UnknownFields): boolean =>
  Object.values(fieldsIn(call['extra_content'])).some((one) => textIn(fieldsIn(one), 'thought_signature') !== '');

/**
 * Groq refuses unknown fields of messages with 400 ("property 'reasoning_content' is unsupported"). Some of its models take
 * `reasoning` and others refuse it, so no reasoning goes back. Its streams may have the usage in `x_groq`.
 */
const GROQ: Dialect = { ...STANDARD, name: 'groq', emptyContent: '' };

/** LM Studio refuses a `tool_choice` that is an object. A named tool is offered alone and required. */
const LMSTUDIO: Dialect = { ...TOLERANT, name: 'lmstudio', request: withPlainChoice };

function withPlainChoice(body: UnknownFields): UnknownFields {
  const { tool_choice: choice, tools } = body;
  if (!isFields(choice) || !Array.isArray(tools)) return body;
  const name = textIn(fieldsIn(choice['function']), 'name');
  const named = tools.filter((tool: unknown) => textIn(fieldsIn(fieldsIn(tool)['function']), 'name') === name);
  return { ...body, tool_choice: 'required', tools: named.length === 0 ? tools : named };
}

/**
 * Mistral refuses every field that its schema does not have with 422 `extra_forbidden`, also in messages: no reasoning goes back.
 * Its answers leave `type` out of calls, and Magistral's give `content` as a list with parts of the type `thinking`.
 */
const MISTRAL: Dialect = { ...STANDARD, name: 'mistral', emptyContent: '' };

/** OpenRouter takes `reasoning_details` back unchanged; without them the text of `reasoning`. */
const OPENROUTER: Dialect = {
  ...STANDARD,
  name: 'openrouter',
  turnFields: ({ thought }) => {
    if (thought === null) return {};
    if (thought.details.length > 0) return { reasoning_details: thought.details };
    return thought.text === '' ? {} : { reasoning: thought.text };
  },
};

/** xAI counts reasoning beside `completion_tokens`; its `total_tokens` has both. Its Chat Completions take no reasoning back. */
const XAI: Dialect = { ...STANDARD, name: 'xai', emptyContent: '', reasoningBeside: true };

/** Known providers by prefix. The others of the provider table, as vLLM, llama.cpp and Together AI, speak the tolerant dialect. */
const DIALECTS: { readonly [prefix: string]: Dialect } = {
  openai: { ...STANDARD, name: 'openai' },
  anthropic: { ...STANDARD, name: 'anthropic' },
  cerebras: CEREBRAS,
  deepseek: DEEPSEEK,
  fireworks: FIREWORKS,
  google: GOOGLE,
  groq: GROQ,
  lmstudio: LMSTUDIO,
  mistral: MISTRAL,
  openrouter: OPENROUTER,
  xai: XAI,
};

/** Returns the dialect of a known provider, else that of the host, else the tolerant one. */
export function dialectOf(prefix: string | undefined, baseURL: string): Dialect {
  if (prefix !== undefined) return DIALECTS[prefix] ?? TOLERANT;
  const { host } = new URL(baseURL);
  const known = Object.keys(DIALECTS).find((name) => hostOf(name) === host);
  return (known === undefined ? undefined : DIALECTS[known]) ?? TOLERANT;
}

const hostOf = (prefix: string): string | null => {
  const row = MODEL_PROVIDERS[prefix];
  return row === undefined ? null : new URL(row.baseURL).host;
};

/** Returns the dialect that a recording names; null for a name that no dialect has. */
export const dialectNamed = (name: string): Dialect | null =>
  [TOLERANT, ...Object.values(DIALECTS)].find((dialect) => dialect.name === name) ?? null;
