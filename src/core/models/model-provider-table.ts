import type { OptionalPackage } from '../optional-package.js';

/** In what the API of a provider differs from that of OpenAI. */
export interface Quirks {
  /** The field of Chat Completions that bounds the tokens of an answer. Default `max_tokens`. */
  readonly maxTokens?: 'max_tokens' | 'max_completion_tokens';
  /** How an answer of a given form is asked for. `json_object` and `prompt` tell the model the schema in words. Default `json_schema`. */
  readonly structuredOutput?: 'json_schema' | 'json_object' | 'prompt';
  /** Which ids of calls it takes: `word` has up to 64 letters, digits, `_` and `-`; `nine` nine letters and digits. Default: any. */
  readonly callIds?: 'word' | 'nine';
  /** Fields that the API refuses, by their names in the request. They are not sent. */
  readonly omit?: readonly string[];
}

export interface ModelProviderRow {
  readonly title: string;
  readonly baseURL: string;
  /** Which of the two APIs of OpenAI is spoken. */
  readonly api: 'responses' | 'chat';
  /** The variable with the key; with `_FILE` behind it, that with the path of a file that holds it. */
  readonly keyVariable: string;
  readonly needsKey: boolean;
  /** The variable with another address; null: none, as only servers of one's own move. */
  readonly urlVariable: string | null;
  readonly quirks: Quirks;
}

const OPENAI_ONLY = ['store', 'prompt_cache_retention', 'prompt_cache_options'];

const hosted = (title: string, baseURL: string, keyVariable: string, quirks: Quirks = {}): ModelProviderRow => ({
  ...{ title, baseURL, api: 'chat', keyVariable, needsKey: true, urlVariable: null, quirks },
});

const local = (title: string, baseURL: string, name: string): ModelProviderRow => ({
  ...{ title, baseURL, api: 'chat', keyVariable: `${name}_API_KEY`, needsKey: false },
  ...{ urlVariable: `${name}_BASE_URL`, quirks: {} },
});

/** The one table of providers that speak as OpenAI does, by prefix. docs/models/README.md documents it, and a test holds the two equal. */
export const MODEL_PROVIDERS: { readonly [prefix: string]: ModelProviderRow } = {
  openai: {
    title: 'OpenAI',
    baseURL: 'https://api.openai.com/v1',
    api: 'responses',
    keyVariable: 'OPENAI_API_KEY',
    needsKey: true,
    urlVariable: 'OPENAI_BASE_URL',
    quirks: { maxTokens: 'max_completion_tokens' },
  },
  // Its endpoint takes `response_format` and ignores it.
  anthropic: hosted('Anthropic', 'https://api.anthropic.com/v1', 'ANTHROPIC_API_KEY', {
    structuredOutput: 'prompt',
    callIds: 'word',
  }),
  google: hosted('Google', 'https://generativelanguage.googleapis.com/v1beta/openai', 'GEMINI_API_KEY', {
    omit: OPENAI_ONLY,
  }),
  openrouter: hosted('OpenRouter', 'https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY'),
  groq: hosted('Groq', 'https://api.groq.com/openai/v1', 'GROQ_API_KEY', {
    maxTokens: 'max_completion_tokens',
    omit: OPENAI_ONLY,
  }),
  mistral: hosted('Mistral', 'https://api.mistral.ai/v1', 'MISTRAL_API_KEY', {
    callIds: 'nine',
    omit: ['stream_options', ...OPENAI_ONLY],
  }),
  deepseek: hosted('DeepSeek', 'https://api.deepseek.com/v1', 'DEEPSEEK_API_KEY', { structuredOutput: 'json_object' }),
  together: hosted('Together AI', 'https://api.together.xyz/v1', 'TOGETHER_API_KEY'),
  fireworks: hosted('Fireworks AI', 'https://api.fireworks.ai/inference/v1', 'FIREWORKS_API_KEY', {
    omit: ['stream_options', ...OPENAI_ONLY],
  }),
  cerebras: hosted('Cerebras', 'https://api.cerebras.ai/v1', 'CEREBRAS_API_KEY', {
    maxTokens: 'max_completion_tokens',
    omit: ['frequency_penalty', 'presence_penalty', ...OPENAI_ONLY],
  }),
  xai: hosted('xAI', 'https://api.x.ai/v1', 'XAI_API_KEY'),
  vllm: local('vLLM', 'http://127.0.0.1:8000/v1', 'VLLM'),
  llamacpp: local('llama.cpp', 'http://127.0.0.1:8080/v1', 'LLAMACPP'),
  lmstudio: local('LM Studio', 'http://127.0.0.1:1234/v1', 'LMSTUDIO'),
};

/** The adapter of the Agents SDK for models of the AI SDK. */
export const ADAPTER_PACKAGE: OptionalPackage = { name: '@openai/agents-extensions', version: '0.18.0' };

export interface NativeProviderRow {
  readonly title: string;
  /** Anthropic's Messages, or Gemini's generateContent. */
  readonly api: 'anthropic' | 'google';
  readonly baseURL: string;
  /** The variable with the key; with `_FILE` behind the name, the variable with the path of a file that holds the key. */
  readonly keyVariable: string;
  /** The header that carries the key. */
  readonly keyHeader: string;
  /** The package of the AI SDK for this API. */
  readonly package: OptionalPackage;
  /** The name of the provider in the list of prices. */
  readonly listedAs: string;
}

/** The providers that Holdfast asks by their own API, by prefix. A test holds docs/models/README.md equal to this table. */
export const NATIVE_PROVIDERS: { readonly [prefix: string]: NativeProviderRow } = {
  'anthropic-native': {
    title: 'Anthropic',
    api: 'anthropic',
    baseURL: 'https://api.anthropic.com/v1',
    keyVariable: 'ANTHROPIC_API_KEY',
    keyHeader: 'x-api-key',
    package: { name: '@ai-sdk/anthropic', version: '3.0.140' },
    listedAs: 'anthropic',
  },
  'google-native': {
    title: 'Google',
    api: 'google',
    baseURL: 'https://generativelanguage.googleapis.com/v1beta',
    keyVariable: 'GEMINI_API_KEY',
    keyHeader: 'x-goog-api-key',
    package: { name: '@ai-sdk/google', version: '3.0.141' },
    listedAs: 'google',
  },
};
