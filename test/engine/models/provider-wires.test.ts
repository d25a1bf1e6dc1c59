import { Agent } from '@openai/agents';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { openaiCompatible } from '../../../src/engine/agents/model-providers.js';
import { defineAgent, defineTool, type HoldfastConfig } from '../../../src/index.js';
import { ADMIN, dataOf, openTestEngine, type TestEngine } from '../../harness/engine.js';
import { SLOW } from '../../harness/slow.js';
import { PROVIDERS } from '../../models/providers/all-providers.js';
import { type FakeProvider, FINAL, serves, type Turn } from '../../models/providers/fake-provider.js';
import { type WireServer, wireServer } from '../../models/servers/wire-server.js';

/** From the wire of each provider, as its documentation and its users describe it, to the end of a durable run. */

const MODES = ['whole', 'streamed'] as const;
const CASES = PROVIDERS.flatMap((provider) => MODES.map((mode) => ({ provider, mode, prefix: provider.prefix })));

const KEY = 'key-of-a-provider-0123456789';
// A nano-dollar for each token of input, and 1,000 for each of output.
const PRICE = { inputPerMillion: '0.001', outputPerMillion: '1' };
const TURNS = ([1, 2, 3] as const).map((number): Turn => ({ number, thought: '', calls: [], text: '' }));

const weather = defineTool({
  name: 'weather',
  description: 'The weather of a city.',
  input: z.object({ city: z.string() }),
  output: z.string(),
  effect: 'pure',
  execute: ({ city }) => `12 degrees in ${city}`,
});

const openAt = ({ prefix }: FakeProvider, url: string) =>
  openaiCompatible({
    ...(prefix === 'gateway' ? {} : { like: prefix }),
    ...{ baseURL: `${url}/v1`, key: KEY, api: 'chat' },
  });

describe('the wire of a provider', () => {
  let engine: TestEngine;
  const servers: WireServer[] = [];
  beforeAll(async () => {
    const providers: Record<string, NonNullable<HoldfastConfig['providers']>[string]> = {};
    const prices: Record<string, typeof PRICE> = {};
    const agents = [];
    for (const provider of PROVIDERS) {
      const server = await wireServer(serves(provider));
      servers.push(server);
      const { prefix, model } = provider;
      providers[prefix] = openAt(provider, server.url);
      prices[`${prefix}/${model}`] = PRICE;
      for (const mode of MODES) {
        const named = { name: `${prefix}_${mode}`, model: `${prefix}/${model}`, tools: [weather] };
        const agent = new Agent({ ...named, instructions: 'Be short.', modelSettings: { maxTokens: 5_000 } });
        agents.push(defineAgent({ agent, grants: ['tool:call:weather'], stream: mode === 'streamed', maxTurns: 6 }));
      }
    }
    engine = await openTestEngine('pglite', { agents, providers, prices });
  });
  afterAll(async () => {
    await engine.close();
    for (const server of servers) await server[Symbol.asyncDispose]();
  });

  test.runIf(SLOW).each(CASES)(
    '$prefix, $mode: two turns with calls, parallel ones too, and a budget to the token',
    async ({ provider, mode }) => {
      const budget = { usd: '1.00', onExhausted: 'fail' as const };
      const asked = { agent: `${provider.prefix}_${mode}`, input: 'Which is warmest?', budget };
      const { id } = await engine.engine.startRun(asked, ADMIN);
      const run = await engine.engine.getRun(id, ADMIN, { waitMs: 30_000 });
      expect(run).toMatchObject({ status: 'completed', output: FINAL, turns: 3, error: null });
      const charged = TURNS.map((turn) => provider.charged(turn));
      const inputTokens = charged.reduce((sum, one) => sum + one.inputTokens, 0);
      const outputTokens = charged.reduce((sum, one) => sum + one.outputTokens, 0);
      expect(run.usage).toEqual({ inputTokens, outputTokens, totalTokens: inputTokens + outputTokens });
      const nanos = inputTokens + 1_000 * outputTokens;
      expect(Number(run.costUsd)).toBeCloseTo(nanos / 1e9, 12);
      const answers = await dataOf(engine.engine, id, 'model.responded');
      expect(answers.map(({ finishReason }) => finishReason)).toEqual(['tool_calls', 'tool_calls', 'stop']);
      const calls = await dataOf(engine.engine, id, 'call.finished');
      expect(calls.map(({ outcome }) => outcome)).toEqual(
        ['Oslo', 'Rome', 'Paris'].map((city) => ({ type: 'output', output: `12 degrees in ${city}` })),
      );
    },
  );
});
