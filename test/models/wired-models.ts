import { nativeApi, openaiCompatible } from '../../src/engine/agents/model-providers.js';
import { OllamaModel } from '../../src/models/ollama/ollama-model.js';
import { MultiModelProvider } from '../../src/models/providers/multi-model-provider.js';
import { ANTHROPIC } from './servers/anthropic-wire.js';
import { CHAT } from './servers/chat-wire.js';
import { GOOGLE } from './servers/google-wire.js';
import { OLLAMA } from './servers/ollama-wire.js';
import { RESPONSES } from './servers/responses-wire.js';
import { SECRET, type WiredModel } from './wire.contract.js';

/** One provider of models of each API. */
export const WIRED: readonly WiredModel[] = [
  {
    name: 'OllamaModel',
    wire: OLLAMA,
    open: (baseURL) => new OllamaModel('test', { baseURL, apiKey: SECRET }),
  },
  {
    name: "OpenAI's Responses",
    wire: RESPONSES,
    open: (url) => new MultiModelProvider({ openaiApiKey: SECRET, openaiBaseUrl: `${url}/v1` }).getModel('test'),
  },
  {
    name: 'Chat Completions',
    wire: CHAT,
    open: (url) => openaiCompatible({ baseURL: `${url}/v1`, key: SECRET }).getModel('test'),
  },
  {
    name: "Anthropic's Messages",
    wire: ANTHROPIC,
    keyHeader: 'x-api-key',
    open: (url) => nativeApi({ like: 'anthropic-native', baseURL: `${url}/v1`, key: SECRET }).getModel('test'),
  },
  {
    name: 'Gemini',
    wire: GOOGLE,
    keyHeader: 'x-goog-api-key',
    formOf: ({ additionalProperties: _, ...rest }) => rest,
    open: (url) => nativeApi({ like: 'google-native', baseURL: `${url}/v1beta`, key: SECRET }).getModel('test'),
  },
];
