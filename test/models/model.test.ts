import type { Model, ModelRequest } from '@openai/agents';
import { functionModel } from '../../src/models/function-model.js';
import { MultiModelProvider } from '../../src/models/multi-model-provider.js';
import { OllamaModel } from '../../src/models/ollama-model.js';
import { type Fault, FINAL, HELLO, modelContract, type OpenModel, type Scenario, SECRET } from './model.contract.js';
import { callItem, textItem } from './requests.js';
import {
  chunk,
  cutAfter,
  hangsAfter,
  lastChunk,
  says,
  saysInPieces,
  saysRaw,
  toolCall,
} from './servers/ollama-server.js';
import {
  callOutput,
  cutResponse,
  failsAfterStart,
  hangingResponse,
  responds,
  textOutput,
} from './servers/openai-server.js';
import { type Answerer, htmlPage, reset, silence, wireServer } from './servers/wire-server.js';

const OSLO = { city: 'Oslo' };
const ROME = { city: 'Rome' };

async function served(
  answers: readonly Answerer[],
  model: (url: string) => Promise<Model> | Model,
): Promise<OpenModel> {
  const server = await wireServer(...answers);
  return {
    model: await model(server.url),
    abandoned: server.abandoned,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const hello = [...HELLO].map((content) => chunk({ content }));

const OLLAMA: Record<Scenario, readonly Answerer[]> = {
  text: [saysInPieces(61, ...hello, lastChunk())],
  calls: [
    says(
      chunk({ tool_calls: [toolCall('weather', OSLO, { index: 0 })] }),
      chunk({ tool_calls: [toolCall('weather', ROME, { index: 0 })] }),
      lastChunk(),
    ),
  ],
  agent: [
    says(chunk({ tool_calls: [toolCall('weather', OSLO)] }), lastChunk()),
    says(lastChunk({}, { content: FINAL })),
  ],
  slow: [hangsAfter(chunk({ content: 'I' }))],
};
const OLLAMA_BROKEN: Record<Fault, Answerer> = {
  page: htmlPage(502),
  reset,
  cut: cutAfter(...hello),
  said: saysRaw(`${JSON.stringify(chunk({ content: 'I' }))}\n{"error":"model runner has stopped; key ${SECRET}"}\n`),
};
const ollama = (baseURL: string) => new OllamaModel('test', { baseURL, apiKey: SECRET });

modelContract({
  name: 'OllamaModel',
  open: (scenario) => served(OLLAMA[scenario], ollama),
  openBroken: (fault) => served([OLLAMA_BROKEN[fault]], ollama),
});

const OPENAI: Record<Scenario, readonly Answerer[]> = {
  text: [responds([textOutput(HELLO)], HELLO)],
  calls: [responds([callOutput('call_1', 'weather', OSLO), callOutput('call_2', 'weather', ROME)])],
  agent: [responds([callOutput('call_1', 'weather', OSLO)]), responds([textOutput(FINAL)], FINAL)],
  slow: [hangingResponse],
};
const OPENAI_BROKEN: Record<Fault, Answerer> = {
  // The package of OpenAI asks again by itself, after this time.
  page: htmlPage(502, { 'retry-after-ms': '1' }),
  reset,
  cut: cutResponse(HELLO),
  said: failsAfterStart(`the engine has stopped; key ${SECRET}`),
};
const openai = (url: string) =>
  new MultiModelProvider({ openaiApiKey: SECRET, openaiBaseUrl: `${url}/v1` }).getModel('test');

modelContract({
  name: "the SDK's OpenAI model",
  open: (scenario) => served(scenario === 'slow' ? [hangingResponse, silence] : OPENAI[scenario], openai),
  openBroken: (fault) => served([OPENAI_BROKEN[fault]], openai),
});

const hasResult = ({ input }: ModelRequest) =>
  Array.isArray(input) && input.some((item) => item.type === 'function_call_result');

const SCRIPTS: Record<Scenario, Model> = {
  text: functionModel('test', () => [textItem(HELLO)]),
  calls: functionModel('test', () => [callItem('weather', OSLO), callItem('weather', ROME)]),
  agent: functionModel('test', (request) => (hasResult(request) ? [textItem(FINAL)] : [callItem('weather', OSLO)])),
  slow: functionModel('test', () => [textItem(HELLO)], { delayMs: 60_000 }),
};

modelContract({
  name: 'functionModel',
  open: async (scenario) => ({ model: SCRIPTS[scenario], [Symbol.asyncDispose]: async () => undefined }),
  openBroken: null,
});
