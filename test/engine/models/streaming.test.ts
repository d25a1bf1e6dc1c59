import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, type Model } from '@openai/agents';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { runDelta } from '../../../src/core/log/delta.js';
import { createHttpServer, type HttpServer } from '../../../src/http/server.js';
import { defineAgent, defineTool, functionModel, type RunDelta, type RunEvent } from '../../../src/index.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, eventsOf, openTestEngine, restOf, type TestEngine } from '../../harness/engine.js';
import { inPieces } from '../../harness/in-pieces.js';
import { call, resultsIn, say } from '../../harness/script.js';
import { bearer, collectingLog, options } from '../../http/door.js';

const THOUGHT = 'They want the weather, so I look.';
const ANSWER = 'It is 12 degrees in Oslo, 世界 👩‍🚀.';

const weather = defineTool({
  name: 'weather',
  description: 'The weather of a city.',
  input: z.object({ city: z.string() }),
  output: z.string(),
  effect: 'pure',
  execute: ({ city }) => `12 degrees in ${city}`,
});

const reasoning = {
  type: 'reasoning' as const,
  content: [],
  rawContent: [{ type: 'reasoning_text' as const, text: THOUGHT }],
};
const script = functionModel('weather', ({ input }) =>
  resultsIn(input).length === 0
    ? [reasoning, say('I look.'), call('weather', { city: 'Oslo' }, 'call_w')]
    : [say(ANSWER)],
);

/** Breaks off in the middle of its first two answers. */
let breaks = 2;
const breaking = inPieces(
  functionModel('breaking', () => [say(ANSWER)]),
  3,
  async (piece) => {
    await sleep(20);
    if (piece === 6 && breaks-- > 0) throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
  },
);

/** Says something forever, and does not care whether anybody has gone. */
const deaf = inPieces(
  functionModel('deaf', () => [say('la '.repeat(100_000))]),
  3,
  () => sleep(10),
);

const FLOOD = 100_000;
const flood = inPieces(
  functionModel('flood', () => [say('ten chars '.repeat(FLOOD))]),
  10,
  () => undefined,
);

const wholeOnly: Model = {
  getResponse: (request) => script.getResponse(request),
  getStreamedResponse: () => {
    throw new Error('no one asked for a stream');
  },
};

const agent = (name: string, model: Model, stream?: boolean) =>
  defineAgent({
    agent: new Agent({ name, model, tools: name === 'teller' || name === 'whole' ? [weather] : [] }),
    grants: ['tool:call:weather'],
    ...(stream === undefined ? {} : { stream }),
  });

const AGENTS = [
  agent(
    'teller',
    inPieces(script, 4, () => sleep(10)),
    true,
  ),
  agent('whole', wholeOnly),
  agent('breaking', breaking, true),
  agent('deaf', deaf, true),
  agent('flood', flood, true),
];

describeEachDatabaseSlowly('streaming', (kind) => {
  let test_: TestEngine;
  let http: HttpServer;
  beforeAll(async () => {
    test_ = await openTestEngine(kind, { agents: AGENTS });
    http = await createHttpServer(test_.engine, options(collectingLog().log));
  });
  afterAll(async () => {
    await http.close(0);
    await test_.close();
  });

  const start = async (name: string, stream?: boolean): Promise<string> =>
    (await test_.engine.startRun({ agent: name, input: 'go', ...(stream === undefined ? {} : { stream }) }, ADMIN)).id;

  async function follow(id: string): Promise<(RunEvent | RunDelta)[]> {
    const all: (RunEvent | RunDelta)[] = [];
    const signal = AbortSignal.timeout(20_000);
    for await (const one of test_.engine.streamRun(id, { after: 0, signal }, ADMIN)) all.push(one);
    return all;
  }

  const isDelta = (one: RunEvent | RunDelta): one is RunDelta => !('seq' in one);
  const joined = (deltas: readonly RunDelta[], type: RunDelta['type'], turn: number): string =>
    deltas.map((one) => ('delta' in one && one.type === type && one.turn === turn ? one.delta : '')).join('');

  /** What must not differ from run to run: everything but ids, times and what is salted with the key of the run. */
  const recorded = (all: readonly (RunEvent | RunDelta)[]) =>
    all.flatMap((one) =>
      'seq' in one ? [{ seq: one.seq, kind: one.kind, data: one.data, state: one.stateHashAfter }] : [],
    );

  test('the same run in pieces leaves the same log, and its deltas are its answers', async () => {
    const all = await follow(await start('teller'));
    const deltas = all.filter(isDelta);
    expect(joined(deltas, 'reasoning', 1)).toBe(THOUGHT);
    expect(joined(deltas, 'text', 1)).toBe('I look.');
    expect(joined(deltas, 'arguments', 1)).toBe('{"city":"Oslo"}');
    expect(joined(deltas, 'text', 2)).toBe(ANSWER);
    expect(deltas.find((one) => one.type === 'arguments')).toMatchObject({ callId: 'call_w', tool: 'weather' });
    expect(deltas.length).toBeGreaterThanOrEqual(4);
    expect(new Set(deltas.map((one) => ('attempt' in one ? one.attempt : ''))).size).toBe(2);
    // No delta of a turn comes after its answer.
    const answers = all.flatMap((one, at) => ('seq' in one && one.kind === 'model.responded' ? [at] : []));
    const lastOf = (turn: number) => all.findLastIndex((one) => isDelta(one) && 'turn' in one && one.turn === turn);
    expect([1, 2].map(lastOf)).toEqual([lastOf(1), lastOf(2)].map((at, turn) => Math.min(at, answers[turn] ?? 0)));

    const whole = await follow(await start('teller', false));
    expect(whole.filter(isDelta)).toEqual([]);
    // The digest of a call is bound to its run, and the state has it. Whether it was asked to stream is what differs.
    const unbound = (run: readonly (RunEvent | RunDelta)[]): unknown =>
      JSON.parse(
        JSON.stringify(recorded(run))
          .replaceAll(/"(digest|state)":"sha256:\w+"/g, '"$1":"…"')
          .replaceAll(/"stream":(true|false|null)/g, '"stream":"…"'),
      );
    expect(unbound(all)).toEqual(unbound(whole));
    const usage = async (id: string | undefined) => (await test_.engine.getRun(id ?? '', ADMIN)).usage;
    expect(await usage(all.find((one) => 'seq' in one)?.runId)).toEqual(await usage(whole[0]?.runId));
  });

  test('without being asked to, a model answers whole; a run may ask', async () => {
    expect((await follow(await start('whole'))).at(-1)).toMatchObject({ kind: 'run.completed' });
    expect((await follow(await start('whole', true))).at(-1)).toMatchObject({
      kind: 'run.failed',
      data: { error: { code: 'model_failed', message: expect.stringContaining('no one asked for a stream') } },
    });
  });

  test('an attempt that breaks off is replaced, and leaves nothing in the log', async () => {
    breaks = 2;
    const all = await follow(await start('breaking'));
    const deltas = all.filter(isDelta);
    const attempts = [...new Set(deltas.flatMap((one) => (one.type === 'text' ? [one.attempt] : [])))];
    expect(attempts).toHaveLength(3);
    expect(deltas.filter((one) => one.type === 'replaced')).toMatchObject([
      { turn: 1, attempt: attempts[0], by: attempts[1] },
      { turn: 1, attempt: attempts[1], by: attempts[2] },
    ]);
    expect(
      joined(
        deltas.filter((one) => one.type !== 'replaced' && 'attempt' in one && one.attempt === attempts[2]),
        'text',
        1,
      ),
    ).toBe(ANSWER);
    breaks = 0;
    expect(recorded(all)).toEqual(recorded(await follow(await start('breaking'))));
  });

  test('a stream in flight stops within two seconds when its run is cancelled', async () => {
    const id = await start('deaf');
    const seen: RunDelta[] = [];
    const following = (async () => {
      for await (const one of test_.engine.streamRun(id, { after: 0, signal: AbortSignal.timeout(20_000) }, ADMIN))
        if (isDelta(one)) seen.push(one);
    })();
    await expect.poll(() => seen.length).toBeGreaterThan(2);
    const askedAt = Date.now();
    await test_.engine.cancelRun(id, null, ADMIN);
    expect((await test_.engine.getRun(id, ADMIN, { waitMs: 10_000 })).status).toBe('cancelled');
    expect(Date.now() - askedAt).toBeLessThan(2000);
    await following;
  });

  interface Stream {
    readonly messages: EventSourceMessage[];
    readonly read: () => Promise<void>;
  }

  /** A client on a socket of its own, which reads when it is told to. */
  async function client(path: string): Promise<Stream> {
    const { port } = new URL(http.url);
    const socket = connect(Number(port), '127.0.0.1').pause();
    await once(socket, 'connect');
    const { Authorization } = bearer('vera');
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: ${Authorization}\r\nAccept: text/event-stream\r\n\r\n`,
    );
    const messages: EventSourceMessage[] = [];
    const parser = createParser({ onEvent: (message) => messages.push(message) });
    const read = async (): Promise<void> => {
      const chunks: Buffer[] = [];
      for await (const part of socket) chunks.push(part);
      const [, ...body] = Buffer.concat(chunks).toString('utf8').split('\r\n\r\n');
      // Chunked: sizes stand on lines of their own.
      parser.feed(body.join('\r\n\r\n').replaceAll(/(^|\r\n)[0-9a-f]+\r\n/g, ''));
    };
    return { messages, read };
  }

  test('over HTTP deltas have no id, and no one who does not want them gets them', async () => {
    const id = await start('teller');
    const [one, other] = await Promise.all([
      client(`/api/v1/runs/${id}/events`),
      client(`/api/v1/runs/${id}/events?deltas=false`),
    ]);
    await Promise.all([one.read(), other.read()]);
    const deltas = one.messages.filter(({ event }) => event === 'delta');
    expect(deltas.length).toBeGreaterThanOrEqual(4);
    for (const { id: none, data } of deltas) {
      expect(none).toBeUndefined();
      runDelta.parse(JSON.parse(data));
    }
    expect(one.messages.filter(({ event }) => event !== 'delta')).toEqual(other.messages);
    expect(other.messages.at(-1)).toMatchObject({ event: 'end', data: '{"status":"completed"}' });
  });

  test('a client that does not read slows nothing down, and loses deltas but no event', async () => {
    const id = await start('flood');
    const silent = await client(`/api/v1/runs/${id}/events`);
    const run = await restOf(test_.engine, id);
    expect(run.status).toBe('completed');
    expect(run.output).toHaveLength(FLOOD * 10);
    await silent.read();
    const kinds = silent.messages.map(({ event }) => event);
    const items = await eventsOf(test_.engine, id);
    expect(kinds.filter((name) => !/^deltas?\b|^end$/.test(name ?? ''))).toEqual(items.map((event) => event.kind));
    const bytes = silent.messages.reduce((sum, { event, data }) => sum + (event === 'delta' ? data.length : 0), 0);
    expect(bytes).toBeLessThan(5_000_000);
    expect(kinds.at(-1)).toBe('end');
  });
});
