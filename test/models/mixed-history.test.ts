import type { AgentInputItem, Model } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { nativeApi, openaiCompatible } from '../../src/engine/agents/model-providers.js';
import { OllamaModel } from '../../src/models/ollama/ollama-model.js';
import { UNWATCHED } from '../../src/models/providers/model-attempt.js';
import { MultiModelProvider } from '../../src/models/providers/multi-model-provider.js';
import { attemptOf } from '../../src/models/providers/single-attempt.js';
import { call, MODES } from './model.contract.js';
import { requestOf, resultItem } from './requests.js';
import { ANTHROPIC } from './servers/anthropic-wire.js';
import { CHAT } from './servers/chat-wire.js';
import { GOOGLE } from './servers/google-wire.js';
import { OLLAMA } from './servers/ollama-wire.js';
import { RESPONSES } from './servers/responses-wire.js';
import { answers, type Wire } from './servers/wire.js';
import { wireServer } from './servers/wire-server.js';

/** A conversation goes from one provider to another: by a handoff, a router, a fork with another model, or a session. */

interface Speaker {
  readonly name: string;
  readonly wire: Wire;
  readonly open: (url: string) => Model | Promise<Model>;
}

const key = 'sk-mixed';
const SPEAKERS: readonly Speaker[] = [
  { name: 'ollama', wire: OLLAMA, open: (baseURL) => new OllamaModel('test', { baseURL }) },
  {
    name: 'openai',
    wire: RESPONSES,
    open: (url) => new MultiModelProvider({ openaiApiKey: key, openaiBaseUrl: `${url}/v1` }).getModel('test'),
  },
  {
    name: 'openrouter',
    wire: CHAT,
    open: (url) => openaiCompatible({ baseURL: `${url}/v1`, key }).getModel('test'),
  },
  {
    name: 'anthropic-native',
    wire: ANTHROPIC,
    open: (url) => nativeApi({ like: 'anthropic-native', baseURL: `${url}/v1`, key }).getModel('test'),
  },
  {
    name: 'google-native',
    wire: GOOGLE,
    open: (url) => nativeApi({ like: 'google-native', baseURL: `${url}/v1beta`, key }).getModel('test'),
  },
];

const THOUGHT = 'only its own provider can read this';
const PRIVATE = [
  THOUGHT,
  'rs_1',
  'msg_1',
  'fc_call',
  'chatcmpl',
  'reasoning_details',
  'thinking',
  'signature',
  'thought',
  'answeredBy',
];

const context = { runId: null, taskType: null, watch: UNWATCHED };

/** Asks one of them, and gives what it said and what came to its server. */
async function ask(
  { name, wire, open }: Speaker,
  input: AgentInputItem[],
  mode: (typeof MODES)[number],
  calls = [{ id: 'call_1', name: 'weather', args: { city: 'Oslo' } }],
) {
  const said = { reasoning: THOUGHT, text: 'Let me look.', calls };
  await using server = await wireServer(answers(wire, said));
  const model = attemptOf(await open(server.url), { provider: name, model: 'test' }, context);
  const { output } = await call(model, requestOf({ input }), mode);
  return { output, body: JSON.stringify(server.received[0]?.body) };
}

const user: AgentInputItem = { role: 'user', content: 'What is the weather in Oslo?' };
const result = resultItem('call_1', 'weather', 'rain');
const pairs = SPEAKERS.flatMap((first) => SPEAKERS.filter((other) => other !== first).map((other) => [first, other]));

describe.each(MODES)('%s', (mode) => {
  it.each(pairs.map(([first, other]) => ({ first, other, title: `${first?.name} and then ${other?.name}` })))(
    '$title: words, calls and results go over, and nothing that only the first can read',
    async ({ first, other }) => {
      if (first === undefined || other === undefined) throw new Error('a pair has two');
      const { output } = await ask(first, [user], mode);
      const { body } = await ask(other, [user, ...output, result], mode);
      for (const part of ['Let me look.', 'Oslo', 'rain']) expect(body).toContain(part);
      for (const part of PRIVATE) expect(body).not.toContain(part);
    },
  );

  it.each(pairs.map(([first, other]) => ({ first, other, title: `${first?.name} and then ${other?.name}` })))(
    '$title: an answer in words alone goes over without what only the first can read',
    async ({ first, other }) => {
      if (first === undefined || other === undefined) throw new Error('a pair has two');
      const { output } = await ask(first, [user], mode, []);
      const { body } = await ask(other, [user, ...output, user], mode);
      expect(body).toContain('Let me look.');
      for (const part of PRIVATE) expect(body).not.toContain(part);
    },
  );

  it.each(SPEAKERS)('$name alone hears what it said, as it said it', async (speaker) => {
    const { output } = await ask(speaker, [user], mode);
    const { body } = await ask(speaker, [user, ...output, result], mode);
    expect(body).toContain(THOUGHT);
    expect(body).not.toContain('answeredBy');
  });
});
