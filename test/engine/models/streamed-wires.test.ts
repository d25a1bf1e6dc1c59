import { Agent } from '@openai/agents';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { openaiCompatible } from '../../../src/engine/agents/model-providers.js';
import { createHttpServer, type HttpServer } from '../../../src/http/server.js';
import { defineAgent, defineTool, type HoldfastConfig, OllamaModelProvider } from '../../../src/index.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, eventsOf, openTestEngine, type TestEngine } from '../../harness/engine.js';
import { bearer, collectingLog, options } from '../../http/door.js';
import { FINAL, HELLO } from '../../models/model.contract.js';
import { CHAT } from '../../models/servers/chat-wire.js';
import { OLLAMA } from '../../models/servers/ollama-wire.js';
import { RESPONSES } from '../../models/servers/responses-wire.js';
import { answers, type Wire } from '../../models/servers/wire.js';
import { type WireServer, wireServer } from '../../models/servers/wire-server.js';

/** From the wire of each provider, through a durable run, to a client of its event stream. */

const weather = defineTool({
  name: 'weather',
  description: 'The weather of a city.',
  input: z.object({ city: z.string() }),
  output: z.string(),
  effect: 'pure',
  execute: ({ city }) => `12 degrees in ${city}`,
});

const LONG = '0123456789'.repeat(1_000);
const CALL = { id: 'call_1', name: 'weather', args: { city: 'Oslo' } };

const WIRES: readonly (readonly [string, Wire])[] = [
  ['ollama', OLLAMA],
  ['chat', CHAT],
  ['responses', RESPONSES],
];

const providerAt = (name: string, url: string) => {
  if (name === 'ollama') return new OllamaModelProvider({ baseURL: url });
  return openaiCompatible({ baseURL: `${url}/v1`, key: null, api: name === 'chat' ? 'chat' : 'responses' });
};

describeEachDatabaseSlowly('streams of providers', (kind) => {
  let engine: TestEngine;
  let http: HttpServer;
  const servers: WireServer[] = [];
  beforeAll(async () => {
    const providers: Record<string, NonNullable<HoldfastConfig['providers']>[string]> = {};
    const agents = [];
    for (const [name, wire] of WIRES) {
      const server = await wireServer(
        answers(wire, { text: HELLO, calls: [CALL] }, 13),
        answers(wire, { text: FINAL }, 13),
        answers(wire, { text: LONG }, 1024 * 1024),
      );
      servers.push(server);
      providers[`at-${name}`] = providerAt(name, server.url);
      const agent = new Agent({ name, model: `at-${name}/test`, tools: [weather] });
      agents.push(defineAgent({ agent, grants: ['tool:call:weather'], stream: true }));
    }
    engine = await openTestEngine(kind, { agents, providers });
    http = await createHttpServer(engine.engine, options(collectingLog().log));
  });
  afterAll(async () => {
    await http.close(0);
    await engine.close();
    for (const server of servers) await server[Symbol.asyncDispose]();
  });

  /** What a client reads that comes at once and stays to the end. */
  async function followed(agent: string): Promise<{ readonly id: string; readonly messages: EventSourceMessage[] }> {
    const { id } = await engine.engine.startRun({ agent, input: 'go' }, ADMIN);
    const messages: EventSourceMessage[] = [];
    const parser = createParser({ onEvent: (message) => messages.push(message) });
    const response = await fetch(`${http.url}/api/v1/runs/${id}/events`, {
      headers: { ...bearer('vera'), Accept: 'text/event-stream' },
    });
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) parser.feed(decoder.decode(bytes, { stream: true }));
    return { id, messages };
  }

  const piecesOf = (messages: readonly EventSourceMessage[], type: string, turn: number): string =>
    messages
      .filter(({ event }) => event === 'delta')
      .map(({ data }) => JSON.parse(data))
      .map((one) => (one.type === type && one.turn === turn ? one.delta : ''))
      .join('');

  test.each(WIRES)('text and arguments of %s arrive as they were said', async (name) => {
    const { id, messages } = await followed(name);
    expect(messages.at(-1)).toMatchObject({ event: 'end', data: '{"status":"completed"}' });
    expect(piecesOf(messages, 'text', 1)).toBe(HELLO);
    expect(JSON.parse(piecesOf(messages, 'arguments', 1))).toEqual({ city: 'Oslo' });
    expect(piecesOf(messages, 'text', 2)).toBe(FINAL);
    const { output, usage } = await engine.engine.getRun(id, ADMIN);
    expect(output).toBe(FINAL);
    expect(usage).toMatchObject({ inputTokens: 22, outputTokens: 14 });
    const read = messages.filter(({ event }) => event !== 'delta' && event !== 'end').map(({ event }) => event);
    expect(read).toEqual((await eventsOf(engine.engine, id)).map((event) => event.kind));
  });

  test.each(WIRES)('10,000 chunks of %s arrive in fewer messages, and none is lost', async (name) => {
    const { id, messages } = await followed(name);
    expect(piecesOf(messages, 'text', 1)).toBe(LONG);
    expect((await engine.engine.getRun(id, ADMIN)).output).toBe(LONG);
    expect(messages.length).toBeLessThan(2_000);
  });
});
