import { type Model, type ModelRequest, OpenAIProvider } from '@openai/agents';
import { functionModel } from '../../src/models/function-model.js';
import { MultiModelProvider } from '../../src/models/multi-model-provider.js';
import { MultiModelProviderMap } from '../../src/models/multi-model-provider-map.js';
import { OllamaModel } from '../../src/models/ollama-model.js';
import { FINAL, FORM, HELLO, modelContract, type Scenario } from './model.contract.js';
import { callItem, textItem } from './requests.js';
import { CHAT } from './servers/chat-wire.js';
import { OLLAMA } from './servers/ollama-wire.js';
import { RESPONSES } from './servers/responses-wire.js';
import { SECRET, wireContract } from './wire.contract.js';

wireContract({
  name: 'OllamaModel',
  wire: OLLAMA,
  open: (baseURL) => new OllamaModel('test', { baseURL, apiKey: SECRET }),
});

// What the SDK's own client does not see; it prints when a stream is cut.
const BLIND = ['printing', 'nothing after 200, whole', 'an error after 200, streamed', 'of many pieces'];

wireContract({
  name: "OpenAI's Responses",
  blind: BLIND,
  wire: RESPONSES,
  open: (url) => new MultiModelProvider({ openaiApiKey: SECRET, openaiBaseUrl: `${url}/v1` }).getModel('test'),
});

wireContract({
  name: 'Chat Completions',
  blind: [...BLIND, 'an end before it is done, streamed', 'nothing after 200, streamed'],
  wire: CHAT,
  open: (url) => {
    const provider_map = new MultiModelProviderMap();
    provider_map.addProvider('chat', new OpenAIProvider({ apiKey: SECRET, baseURL: `${url}/v1`, useResponses: false }));
    return new MultiModelProvider({ provider_map }).getModel('chat/test');
  },
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
