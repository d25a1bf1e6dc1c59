import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { afterEach, expect, test } from 'vitest';
import { genesis, seal } from '../../../src/core/log/chain.js';
import type { RunEvent } from '../../../src/core/log/event.js';
import { createLife } from '../../../src/http/wire/life.js';
import { type StreamOptions, sendEvents } from '../../../src/http/wire/sse.js';
import { listening } from '../listening.js';

const KEY = '00'.repeat(32);
const AT = '2026-01-01T00:00:00.000Z';

/** A log of `count` events whose payloads have `bytes` of text. */
function* eventLog(count: number, bytes = 10): Generator<RunEvent> {
  let head = genesis('run-1', 'default');
  for (let n = 0; n < count; n++) {
    const data = { actor: 'ann', reason: '\n'.repeat(bytes) };
    const sealed = seal(head, { key: `k${n}`, parentKey: null, kind: 'run.cancel_requested', data }, null, AT, KEY);
    head = sealed.head;
    yield sealed.event;
  }
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve());
    if (signal.aborted) resolve();
  });

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

interface Streaming {
  readonly url: string;
  readonly finished: Promise<unknown>;
  readonly end: () => void;
}

/** A server that streams `source` to the one that comes; `finished` is how the first stream ended. */
async function streaming(
  source: (signal: AbortSignal) => AsyncIterable<RunEvent>,
  options: Partial<StreamOptions> = {},
): Promise<Streaming> {
  const life = createLife();
  let settle: (how: unknown) => void = () => undefined;
  const finished = new Promise((resolve) => {
    settle = resolve;
  });
  const server = await listening((_request, response) => {
    const signal = life.signalOf(response, new AbortController().signal);
    const all = { heartbeatMs: 10_000, stallMs: 10_000, signal, ...options };
    sendEvents(response, source(signal), async () => ({ status: 'completed' }), all).then(
      () => settle('sent'),
      (error: unknown) => {
        settle(error);
        response.destroy();
      },
    );
  });
  cleanups.push(server.close);
  return { url: server.url, finished, end: life.end };
}

const parse = (text: string): { messages: EventSourceMessage[]; retry: number | undefined; comments: string[] } => {
  const messages: EventSourceMessage[] = [];
  const comments: string[] = [];
  let retry: number | undefined;
  const parser = createParser({
    onEvent: (message) => messages.push(message),
    onRetry: (value) => {
      retry = value;
    },
    onComment: (comment) => comments.push(comment),
  });
  parser.feed(text);
  return { messages, retry, comments };
};

test('events are messages with id, name and data, and `end` comes last', async () => {
  const log = [...eventLog(3)];
  const { url } = await streaming(async function* () {
    yield* log;
  });
  const response = await fetch(url);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'text/event-stream',
    'x-accel-buffering': 'no',
  });
  const { messages, retry } = parse(await response.text());
  expect(retry).toBe(2000);
  expect(messages.slice(0, -1).map(({ id, event, data }) => ({ id, event, data: JSON.parse(data) }))).toEqual(
    log.map((event) => ({ id: String(event.seq), event: event.kind, data: event })),
  );
  expect(messages.at(-1)).toEqual({ event: 'end', data: '{"status":"completed"}', id: undefined });
});

test('a quiet stream shows signs of life', async () => {
  const { url } = await streaming(
    async function* () {
      await sleep(200);
      yield* eventLog(1);
    },
    { heartbeatMs: 20 },
  );
  const { comments, messages } = parse(await (await fetch(url)).text());
  expect(comments.length).toBeGreaterThan(2);
  expect(messages).toHaveLength(2);
});

async function silentClient(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').pause();
  cleanups.push(() => socket.destroy());
  await once(socket, 'connect');
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  return socket;
}

/** Twenty megabytes, which no connection holds. */
const MANY = 500;

test('a client that does not read stops the source, and loses nothing when it reads on', async () => {
  let given = 0;
  const { url, finished } = await streaming(async function* () {
    for (const event of eventLog(MANY, 20_000)) {
      given++;
      yield event;
    }
  });
  const socket = await silentClient(url);
  await expect.poll(async () => given - (await sleep(100).then(() => given)) === 0 && given > 0).toBe(true);
  const atRest = given;
  expect(atRest).toBeLessThan(MANY);
  socket.resume();
  expect(await finished).toBe('sent');
  expect(given).toBe(MANY);
});

test('a client that never reads is cut off', async () => {
  let closed = false;
  const { url, finished } = await streaming(
    async function* () {
      try {
        yield* eventLog(MANY, 20_000);
      } finally {
        closed = true;
      }
    },
    { stallMs: 100 },
  );
  const socket = await silentClient(url);
  expect(await finished).toBe('sent');
  expect(closed).toBe(true);
  socket.resume();
  await once(socket, 'close');
});

test('a client that goes away ends the source', async () => {
  const { url, finished } = await streaming(async function* (signal) {
    yield* eventLog(1);
    await untilAborted(signal);
  });
  const controller = new AbortController();
  const response = await fetch(url, { signal: controller.signal });
  await response.body?.getReader().read();
  controller.abort();
  expect(await finished).toBe('sent');
});

test('a server that closes ends the stream without `end`', async () => {
  const { url, end } = await streaming(async function* (signal) {
    yield* eventLog(2);
    await untilAborted(signal);
  });
  const response = await fetch(url);
  setTimeout(end, 50);
  const { messages } = parse(await response.text());
  expect(messages.map((message) => message.event)).toEqual(['run.cancel_requested', 'run.cancel_requested']);
});

test('a source that fails cuts the stream without `end`', async () => {
  const failure = new Error('the database is gone');
  const { url, finished } = await streaming(async function* () {
    yield* eventLog(1);
    throw failure;
  });
  const response = await fetch(url);
  await expect(response.text()).rejects.toThrow();
  expect(await finished).toBe(failure);
});
