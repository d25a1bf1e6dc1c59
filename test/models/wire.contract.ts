import { Agent, type Model, Runner } from '@openai/agents';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ModelDelta } from '../../src/core/log/delta.js';
import { classifyModelFailure } from '../../src/models/failures/model-failure.js';
import { SLOW } from '../harness/slow.js';
import { call, FINAL, FORM, HELLO, MODES, modelContract, type Scenario, textIn } from './model.contract.js';
import { requestOf } from './requests.js';
import { answers, begins, type Said, type Wire } from './servers/wire.js';
import { type Answerer, silence, wireServer } from './servers/wire-server.js';
import { FAULTS, type Fault, LIMITS } from './wire-faults.js';

export const SECRET = 'sk-contract-secret-0123456789';

/** A provider of models that talks to a server. */
export interface WiredModel {
  readonly name: string;
  readonly wire: Wire;
  /** A model named `test` at the server, whose key is SECRET. */
  readonly open: (serverUrl: string) => Promise<Model> | Model;
  /** The header that carries its key. Default: `Authorization`. */
  readonly keyHeader?: string;
  /** What of a schema the API takes. Default: all. */
  readonly formOf?: (schema: Record<string, unknown>) => Record<string, unknown>;
  /** Whether the model is told in words what form its answer is to have. */
  readonly formInWords?: boolean;
}

const OSLO = { id: 'call_1', name: 'weather', args: { city: 'Oslo' } };
const ROME = { id: 'call_2', name: 'weather', args: { city: 'Rome' } };

const scripts = (wire: Wire): Record<Scenario, readonly Answerer[]> => {
  const say = (said: Said) => answers(wire, said, 61);
  const hangs: Answerer = (response) => {
    begins(wire, response).write(wire.frames({ text: 'I' })[0]);
  };
  return {
    text: [say({ text: HELLO })],
    calls: [say({ calls: [OSLO, ROME] })],
    agent: [say({ calls: [OSLO] }), say({ text: FINAL })],
    form: [say({ text: JSON.stringify(FORM) })],
    slow: [hangs, silence],
  };
};

const comesInPieces = ({ wire, open }: WiredModel, pieceBytes: readonly number[]): void =>
  it.runIf(SLOW).each(pieceBytes)(
    'gives the same answer in pieces of %i bytes, which cut lines and characters',
    async (size) => {
      await using server = await wireServer(answers(wire, { text: HELLO }, size));
      const seen: ModelDelta[] = [];
      const response = await call(await open(server.url), requestOf({}), 'streamed', seen);
      expect(textIn(response.output)).toBe(HELLO);
      expect(seen.map(({ delta }) => delta).join('')).toBe(HELLO);
    },
  );

/** Nothing of a suite prints. */
function printsNothing(): void {
  const spies: { readonly mock: { readonly calls: readonly unknown[] }; mockRestore(): void }[] = [];
  beforeAll(() => {
    for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) spies.push(vi.spyOn(console, method));
    spies.push(vi.spyOn(process.stdout, 'write'), vi.spyOn(process.stderr, 'write'));
  });
  afterAll(() => {
    const printed = spies.flatMap(({ mock }) => mock.calls);
    for (const spy of spies) spy.mockRestore();
    expect(printed).toEqual([]);
  });
}

/** What the engine needs of every model that talks to a server: all of a model, and that it holds when the server does not. */
export function wireContract(wired: WiredModel): void {
  const { name, wire, open, keyHeader, formInWords = false, formOf = (all) => all } = wired;
  const keyed = keyHeader === undefined ? { authorization: `Bearer ${SECRET}` } : { [keyHeader]: SECRET };
  modelContract({
    name,
    open: async (scenario) => {
      const server = await wireServer(...scripts(wire)[scenario]);
      return {
        model: await open(server.url),
        abandoned: server.abandoned,
        arrived: server.arrived,
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
  });

  describe(`${name}, and its server`, () => {
    comesInPieces(wired, [3]);

    it.each(MODES)('counts tokens as the server does, %s', async (mode) => {
      await using server = await wireServer(answers(wire, { text: HELLO }));
      const { usage } = await call(await open(server.url), requestOf({}), mode);
      expect(usage).toMatchObject({ requests: 1, inputTokens: 11, outputTokens: 7, totalTokens: 18 });
      expect([usage.inputTokensDetails].flat()).toMatchObject([{ cached_tokens: 4 }]);
    });

    it.each(MODES)('asks for the form that is wanted, with its key, at its path, %s', async (mode) => {
      await using server = await wireServer(answers(wire, { text: '{"n":1}' }));
      const schema = {
        type: 'object',
        properties: { n: { type: 'number' } },
        required: ['n'],
        additionalProperties: false,
      };
      const outputType = JSON.parse(JSON.stringify({ type: 'json_schema', name: 'out', strict: true, schema }));
      await call(await open(server.url), requestOf({ outputType }), mode);
      const [received] = server.received;
      expect(received).toMatchObject({
        path: mode === 'streamed' ? (wire.streamPath ?? wire.path) : wire.path,
        headers: keyed,
      });
      if (formInWords) expect(JSON.stringify(received?.body)).toContain('additionalProperties');
      else expect(wire.formIn(received?.body ?? {})).toEqual(formOf(schema));
      expect(JSON.stringify(received?.body)).not.toContain(SECRET);
    });

    it.each(MODES)('ends by its timeout when the server is silent, and closes the connection, %s', async (mode) => {
      await using server = await wireServer(silence);
      const model = await open(server.url);
      const agent = new Agent({ name: 'A', model, modelSettings: { timeoutMs: 100 } });
      const runner = new Runner({ tracingDisabled: true });
      const run = async () => {
        if (mode === 'whole') await runner.run(agent, 'Hi');
        else await (await runner.run(agent, 'Hi', { stream: true })).completed;
      };
      const error: unknown = await run().catch((caught: unknown) => caught);
      expect(classifyModelFailure(error)).toMatchObject({ code: 'model_failed', retryable: true });
      // On a busy machine the time is over before the request has left.
      if (server.received.length > 0) await server.abandoned;
    });
  });

  // A package may wait before it asks again by itself: several wait at once.
  describe.concurrent(`${name}, when its server breaks`, () => {
    printsNothing();
    const cases = MODES.flatMap((mode) => FAULTS.map((fault) => [fault.title, mode, fault] as const));
    it.each(cases)('fails and says so: %s, %s', async (_title, mode, fault: Fault) => {
      await using server = await wireServer(fault.answerer(wire, SECRET));
      const error: unknown = await call(await open(server.url), requestOf({}), mode).then(
        (response) => `it gave an answer: ${JSON.stringify(response.output)}`,
        (caught: unknown) => caught,
      );
      expect(error).toBeInstanceOf(Error);
      const failure = classifyModelFailure(error);
      expect(failure).toMatchObject({
        code: 'model_failed',
        retryable: fault.retryable,
        retryAfterMs: fault.retryAfterMs,
      });
      expect(failure.message).toMatch(/\w/);
      expect(failure.message).not.toMatch(/<[a-z!]/i);
      expect(failure.message).not.toContain(SECRET);
    });
  });
}

/** What takes seconds, and is of the way that providers share: the smallest pieces, and servers that never stop. */
export function slowWireContract(wired: WiredModel): void {
  const { name, wire, open } = wired;
  describe(`${name}, and its server that is slow`, () => comesInPieces(wired, [1, 2]));
  describe(`${name}, when its server never stops`, () => {
    printsNothing();
    // 64 MiB are read before that: work of seconds, of minutes on a machine that does much else.
    it.each(LIMITS)('gives up an answer that has no end: $title', { timeout: 300_000 }, async ({ answerer }) => {
      await using server = await wireServer(answerer(wire));
      const error: unknown = await call(await open(server.url), requestOf({}), 'streamed').catch(
        (caught: unknown) => caught,
      );
      expect(classifyModelFailure(error)).toMatchObject({ code: 'model_failed', retryable: false });
      await server.abandoned;
    });
  });
}
