import type { ModelSettings } from '@openai/agents';
import { nativeApi, openaiCompatible } from '../../../src/engine/agents/model-providers.js';
import { type HoldfastConfig, OllamaModelProvider } from '../../../src/index.js';
import { PROVIDERS } from '../../models/providers/all-providers.js';
import { type FakeProvider, FINAL, serves, type Turn } from '../../models/providers/fake-provider.js';
import { OLLAMA } from '../../models/servers/ollama-wire.js';
import { RESPONSES } from '../../models/servers/responses-wire.js';
import { strictAnthropic } from '../../models/servers/strict-anthropic.js';
import { strictGoogle } from '../../models/servers/strict-google.js';
import { objects, type StrictTurn } from '../../models/servers/strict-server.js';
import { answers, type Said, type Wire } from '../../models/servers/wire.js';
import type { Answerer } from '../../models/servers/wire-server.js';

/** A provider on its own wire, whose model calls a tool twice, then once, and then answers. */
export interface WireCase {
  readonly name: string;
  readonly model: string;
  /** Gives each turn by the conversation that it gets. */
  readonly answerer: Answerer;
  readonly open: (url: string) => NonNullable<HoldfastConfig['providers']>[string];
  readonly settings?: ModelSettings;
  /** What of a turn is to be charged. */
  readonly charged: (turn: 1 | 2 | 3) => { readonly inputTokens: number; readonly outputTokens: number };
}

const KEY = 'key-of-a-provider-0123456789';

const chatCase = (provider: FakeProvider): WireCase => ({
  ...{ name: provider.prefix, model: provider.model, answerer: serves(provider) },
  open: (url) =>
    openaiCompatible({
      ...(provider.prefix === 'gateway' ? {} : { like: provider.prefix }),
      ...{ baseURL: `${url}/v1`, key: KEY, api: 'chat' },
    }),
  charged: (number) => provider.charged({ number, thought: '', calls: [], text: '' } satisfies Turn),
});

const calls = (...cities: readonly string[]): Said => ({
  calls: cities.map((city) => ({ id: `call_${city}`, name: 'weather', args: { city } })),
});
const SAID: readonly Said[] = [calls('Oslo', 'Rome'), calls('Paris'), { text: FINAL }];
const TURNS: readonly StrictTurn[] = SAID.map((said) => ({ said }));

/** Results of two calls stand behind the first turn, one more behind the second. */
const byResults =
  (wire: Wire, isResult: (item: Record<string, unknown>) => boolean): Answerer =>
  (response, request) => {
    const { messages, input } = request.body;
    const results = objects(messages ?? input).filter(isResult).length;
    return answers(wire, SAID[Math.max(0, results - 1)] ?? {}, 61)(response, request);
  };

/** As the wires of the contract say it. */
const elevenAndSeven = () => ({ inputTokens: 11, outputTokens: 7 });

export const WIRE_CASES: readonly WireCase[] = [
  ...PROVIDERS.map(chatCase),
  {
    ...{ name: 'responses', model: 'test' },
    answerer: byResults(RESPONSES, ({ type }) => type === 'function_call_output'),
    open: (url) => openaiCompatible({ baseURL: `${url}/v1`, key: KEY, api: 'responses' }),
    charged: elevenAndSeven,
  },
  {
    ...{ name: 'ollama_wire', model: 'test' },
    answerer: byResults(OLLAMA, ({ role }) => role === 'tool'),
    open: (baseURL) => new OllamaModelProvider({ baseURL }),
    charged: elevenAndSeven,
  },
  {
    ...{ name: 'anthropic_native', model: 'claude-sonnet-4-6', answerer: strictAnthropic(TURNS) },
    open: (url) => nativeApi({ like: 'anthropic-native', baseURL: `${url}/v1`, key: KEY }),
    settings: { reasoning: { effort: 'low' } },
    // Tokens that its cache read and wrote are a part of the input.
    charged: () => ({ inputTokens: 90, outputTokens: 50 }),
  },
  {
    ...{ name: 'google_native', model: 'gemini-3-pro-preview', answerer: strictGoogle(TURNS) },
    open: (url) => nativeApi({ like: 'google-native', baseURL: `${url}/v1beta`, key: KEY }),
    settings: { reasoning: { effort: 'low' } },
    // What its tools read is a part of the input, what it thought one of the output.
    charged: () => ({ inputTokens: 100, outputTokens: 50 }),
  },
];
