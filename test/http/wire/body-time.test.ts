import { once } from 'node:events';
import { request } from 'node:http';
import { type AddressInfo, createConnection } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import express from 'express';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHttpServer, type HttpServer } from '../../../src/http/server.js';
import { limitBodies } from '../../../src/http/wire/body-time.js';
import { LINES_TYPE, readLines } from '../../../src/http/wire/lines.js';
import { SLOW } from '../../harness/slow.js';
import { collectingLog, type Door, openDoor, options, TOKENS } from '../door.js';

const BODY_MS = 1500;

let door: Door;
let http: HttpServer;
beforeAll(async () => {
  door = await openDoor('pglite');
  http = await createHttpServer(door.engine, options(collectingLog().log, { bodyMs: BODY_MS }));
});
afterAll(async () => {
  await http.close(0);
  await door.close();
});

/** What a server says to a request of which no more comes, until it closes. */
const answerTo = (port: number, text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let answer = '';
    const socket = createConnection({ host: '127.0.0.1', port });
    socket.setEncoding('utf8').on('data', (piece: string) => {
      answer += piece;
    });
    socket.once('error', reject).once('close', () => resolve(answer));
    socket.write(text);
  });

const head = (path: string, type: string): string =>
  [
    `POST ${path} HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${TOKENS.otto.token}`,
    `Content-Type: ${type}`,
    'Content-Length: 1000',
    'Idempotency-Key: slow',
  ].join('\r\n');

test.runIf(SLOW)('a body that does not come is cut off, whether the request was answered or not', async () => {
  expect(await answerTo(http.port, `${head('/api/v1/runs', 'application/json')}\r\n\r\n{`)).toMatch(/^HTTP\/1.1 408 /);
  expect(await answerTo(http.port, `${head('/nowhere', 'application/json')}\r\n\r\n{`)).toMatch(/^HTTP\/1.1 404 /);
});

test.runIf(SLOW)('lines that do not come are cut off', async () => {
  const answer = await answerTo(http.port, `${head('/api/v1/tasks/batch', LINES_TYPE)}\r\n\r\n1\n2`);
  expect(answer).toMatch(/^HTTP\/1.1 200 /);
  expect(answer).not.toContain('"end"');
});

test.runIf(SLOW)('lines may take as long as the work on them', async () => {
  const app = express();
  app.post('/', async (asked, response) => {
    let lines = 0;
    for await (const line of readLines(asked, {
      maxLineBytes: 2 ** 21,
      lineMs: BODY_MS,
      signal: new AbortController().signal,
    })) {
      lines = line.line;
      await wait((2 * BODY_MS) / 40);
    }
    response.json(lines);
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  limitBodies(server, BODY_MS);
  const { port } = server.address() as AddressInfo;
  // More than the sockets take in by themselves.
  const line = `"${'x'.repeat(2 ** 20)}"\n`;
  const answer = await new Promise<string>((resolve, reject) => {
    const sent = request({ port, method: 'POST', headers: { 'Content-Type': LINES_TYPE } }, (response) => {
      response.setEncoding('utf8').on('data', resolve);
    });
    sent.once('error', reject);
    for (let n = 0; n < 40; n++) sent.write(line);
    sent.end();
  });
  expect(answer).toBe('40');
  server.close();
});
