import type { Model, ModelRequest } from '@openai/agents';
import type { RouterConfig } from '../../src/core/router-config.js';
import { openaiCompatible } from '../../src/engine/model-providers.js';
import { functionModel } from '../../src/models/function-model.js';
import { ModelCallError } from '../../src/models/model-call-error.js';
import { MultiModelProvider } from '../../src/models/multi-model-provider.js';
import { OllamaModel } from '../../src/models/ollama-model.js';
import { FINAL, FORM, HELLO, modelContract, type Scenario } from './model.contract.js';
import { callItem, textItem } from './requests.js';
import { Routed } from './routed.js';
import { CHAT } from './servers/chat-wire.js';
import { OLLAMA } from './servers/ollama-wire.js';
import { RESPONSES } from './servers/responses-wire.js';
import { SECRET, wireContract } from './wire.contract.js';

wireContract({
  name: 'OllamaModel',
  wire: OLLAMA,
  open: (baseURL) => new OllamaModel('test', { baseURL, apiKey: SECRET }),
});

wireContract({
  name: "OpenAI's Responses",
  wire: RESPONSES,
  open: (url) => new MultiModelProvider({ openaiApiKey: SECRET, openaiBaseUrl: `${url}/v1` }).getModel('test'),
});

wireContract({
  name: 'Chat Completions',
  wire: CHAT,
  open: (url) => openaiCompatible({ baseURL: `${url}/v1`, key: SECRET }).getModel('test'),
});

const OSLO = { city: 'Oslo' };

const hasResult = ({ input }: ModelRequest) =>
  Array.isArray(input) && input.some((item) => item.type === 'function_call_result');

const SCRIPTS: Record<Scenario, Model> = {
  text: functionModel('test', () => [textItem(HELLO)]),
  calls: functionModel('test', () => [callItem('weather', OSLO), callItem('weather', { city: 'Rome' })]),
  agent: functionModel('test', (request) => (hasResult(request) ? [textItem(FINAL)] : [callItem('weather', OSLO)])),
  form: functionModel('test', () => [textItem(JSON.stringify(FORM))]),
  slow: functionModel('test', () => [textItem(HELLO)], { delayMs: 60_000 }),
};

modelContract({
  name: 'functionModel',
  open: async (scenario) => ({ model: SCRIPTS[scenario], [Symbol.asyncDispose]: async () => undefined }),
});

/** Only the second candidate answers. */
modelContract({
  name: 'a router',
  open: async (scenario) => {
    const ill = functionModel('ill', () => {
      throw new ModelCallError('model_failed', 'ill', { retryable: true, statusCode: 503 });
    });
    const config: RouterConfig = { strategy: 'capability_based', candidates: ['ill', 'well'] };
    const routed = new Routed({ r: config }, { ill, well: SCRIPTS[scenario] });
    return { model: await routed.attempt('r'), [Symbol.asyncDispose]: async () => undefined };
  },
});
