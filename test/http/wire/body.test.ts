import { gzipSync } from 'node:zlib';
import express, { type ErrorRequestHandler } from 'express';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HoldfastError } from '../../../src/core/errors/errors.js';
import { readBody } from '../../../src/http/wire/body.js';
import { listening } from '../listening.js';

const MAX_BYTES = 5000;
let server: Awaited<ReturnType<typeof listening>>;

const tell: ErrorRequestHandler = (error: unknown, _request, response, _next) => {
  response.status(400).json(error instanceof HoldfastError ? error.view() : { code: String(error) });
};

beforeAll(async () => {
  const app = express();
  app.post('/', async (request, response) => {
    response.json({
      body: await readBody(request, response, { maxBytes: MAX_BYTES, signal: new AbortController().signal }),
    });
  });
  app.use(tell);
  server = await listening(app);
});
afterAll(() => server.close());

interface Sent {
  readonly body?: NonNullable<RequestInit['body']>;
  readonly headers?: Record<string, string>;
}

async function send({ body, headers }: Sent): Promise<unknown> {
  const type = { 'Content-Type': 'application/json' };
  const init = { method: 'POST', headers: { ...type, ...headers }, ...(body === undefined ? {} : { body }) };
  const response = await fetch(server.url, { ...init, duplex: 'half' });
  const answer: unknown = await response.json();
  return answer;
}

const nested = (levels: number): string => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;

async function* endless(): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < 100; n++) yield new TextEncoder().encode(' '.repeat(1000));
}

test.each([
  ['an object', '{"a":[1,null,"x"]}', { a: [1, null, 'x'] }],
  ['nothing', undefined, {}],
  ['an empty text', '', {}],
  ['a scalar', '5', 5],
  ['nesting that is usual', nested(90), JSON.parse(nested(90))],
])('%s is read', async (_what, body, expected) => {
  expect(await send(body === undefined ? {} : { body })).toEqual({ body: expected });
});

test('a charset is allowed, as is a byte order mark', async () => {
  const headers = { 'Content-Type': 'application/json; charset=utf-8' };
  expect(await send({ body: '\uFEFF{"a":1}', headers })).toEqual({ body: { a: 1 } });
});

test.each<[string, Sent, string]>([
  ['half an object', { body: '{"a":' }, 'malformed_json'],
  ['a text', { body: 'hello' }, 'malformed_json'],
  ['two documents', { body: '{}{}' }, 'malformed_json'],
  ['a number beyond all numbers', { body: '{"value":{"n":1e999}}' }, 'malformed_json'],
  ['bytes that are not UTF-8', { body: new Uint8Array([0x22, 0xff, 0xfe, 0x22]) }, 'malformed_json'],
  ['no Content-Type', { body: '{}', headers: { 'Content-Type': '' } }, 'unsupported_media_type'],
  [
    'a form',
    { body: 'a=1', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
    'unsupported_media_type',
  ],
  ['text/plain', { body: '{}', headers: { 'Content-Type': 'text/plain' } }, 'unsupported_media_type'],
  ['a compressed body', { body: gzipSync('{}'), headers: { 'Content-Encoding': 'gzip' } }, 'unsupported_media_type'],
  ['one byte too many', { body: `"${'x'.repeat(MAX_BYTES - 1)}"` }, 'body_too_large'],
  ['too much without a length', { body: ReadableStream.from(endless()) }, 'body_too_large'],
  ['nesting without measure', { body: nested(2000) }, 'invalid_request'],
])('%s is refused by name', async (_what, sent, code) => {
  expect(await send(sent)).toMatchObject({ code });
});

test('a number beyond all numbers is named', async () => {
  const message =
    'The body cannot be read as JSON: the number at /value/n is beyond 1.8e308, which no number can hold.';
  expect(await send({ body: '{"value":{"n":1e999}}' })).toMatchObject({ message });
});

test('exactly as much as allowed is read', async () => {
  expect(await send({ body: `"${'x'.repeat(MAX_BYTES - 2)}"` })).toEqual({ body: 'x'.repeat(MAX_BYTES - 2) });
});
