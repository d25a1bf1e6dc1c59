import { Agent } from '@openai/agents';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defineAgent, OllamaModelProvider } from '../../../src/index.js';
import { ADMIN, openTestEngine, restOf, type TestEngine } from '../../harness/engine.js';
import { lastChunk, says } from '../../models/servers/ollama-server.js';
import { type WireServer, wireServer } from '../../models/servers/wire-server.js';

/** Ollama leaves counts out, for one where a whole prompt came from its cache. A broken server says any number. */
const CASES = [
  ['neither side', { prompt_eval_count: undefined, eval_count: undefined }],
  ['no input', { prompt_eval_count: undefined }],
  ['no output', { eval_count: undefined }],
  ['more than there is', { prompt_eval_count: 9e15, eval_count: 9e15 }],
] as const;

describe('an answer of Ollama that does not say what it took', () => {
  let engine: TestEngine;
  let server: WireServer;
  beforeAll(async () => {
    server = await wireServer((response, request) => {
      const [, counts] = CASES[Number(String(request.body['model']).at(-1))] ?? [];
      return says(lastChunk(counts, { content: 'Here.' }))(response, request);
    });
    const agents = CASES.map((_case, at) =>
      defineAgent({
        agent: new Agent({ name: `a${at}`, model: `box/m${at}`, modelSettings: { maxTokens: 100 } }),
        grants: [],
      }),
    );
    engine = await openTestEngine('pglite', {
      agents,
      providers: { box: new OllamaModelProvider({ baseURL: server.url }) },
      prices: { 'box/*': { inputPerMillion: '1', outputPerMillion: '1' } },
    });
  });
  afterAll(async () => {
    await engine.close();
    await server[Symbol.asyncDispose]();
  });

  test.each(CASES.map(([what], at) => ({ what, at })))('has no price, and never zero: $what', async ({ at }) => {
    const { id } = await engine.engine.startRun({ agent: `a${at}`, input: 'go' }, ADMIN);
    expect(await restOf(engine.engine, id)).toMatchObject({ status: 'completed', output: 'Here.', costUsd: null });
    const { items } = await engine.engine.listCharges(id, { after: 0, limit: 10 }, ADMIN);
    expect(items).toMatchObject([{ state: 'unpriced', costUsd: null }]);
  });

  test.each(CASES.map(([what], at) => ({ what, at })))('costs what was reserved for it: $what', async ({ at }) => {
    const budget = { usd: '1', onExhausted: 'fail' as const };
    const { id } = await engine.engine.startRun({ agent: `a${at}`, input: 'go', budget }, ADMIN);
    const { costUsd } = await restOf(engine.engine, id);
    const { items } = await engine.engine.listCharges(id, { after: 0, limit: 10 }, ADMIN);
    expect(items).toMatchObject([{ state: 'assumed' }]);
    expect(Number(costUsd)).toBeGreaterThan(0.0001);
  });
});
