import { execFile } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import fs, { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { purely } from '../../../steps/calls/pure-callbacks.js';

/** What a pure callback cannot do, each by the name of what it used. */

const server = http.createServer((_request, response) => response.end('up'));
let url = '';
let port = 0;
beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  port = (server.address() as AddressInfo).port;
  url = `http://127.0.0.1:${port}/`;
});
afterAll(() => server.close());

/** As a client that took its functions when it was made; wrapped already where another test in this process was faster. */
const fetchBefore = globalThis.fetch;
const readBefore = fs.readFile;

const HERE = new URL(import.meta.url);
const WAYS: { readonly [name: string]: [() => unknown, RegExp] } = {
  fetch: [() => fetch(url), /used fetch,/],
  'a fetch of before': [async () => (await fetchBefore(url)).text(), /used (a socket|fetch),/],
  'http.request': [() => http.get(url), /used http\.request,/],
  'net.connect': [() => connect(port, '127.0.0.1'), /used net\.connect,/],
  'dns.promises': [() => lookup('localhost'), /used dns\.promises\.lookup,/],
  'fs.promises': [() => readFile(HERE), /used fs\.promises\.readFile,/],
  'fs.readFileSync': [() => readFileSync(HERE), /used fs\.readFileSync,/],
  'a readFile of before': [
    () => readBefore(HERE, () => undefined),
    /used (an operation of Node\.js \(FSREQCALLBACK\)|fs\.readFile),/,
  ],
  child_process: [() => execFile('true'), /used child_process\.execFile,/],
  worker_threads: [() => new Worker('1', { eval: true }), /used worker_threads\.Worker,/],
  'a timer': [
    () => new Promise((_resolve, reject) => setTimeout(() => fetch(url).catch(reject), 1)).catch(() => 'swallowed'),
    /used fetch,/,
  ],
};

const failing = (work: () => unknown) =>
  purely('the callback c', work).then(
    () => null,
    (error: unknown) => error,
  );

it.each(Object.entries(WAYS))('%s fails by name', async (_name, [work, message]) => {
  // A connection that a client keeps open, from before the callback.
  await (await fetchBefore(url)).text();
  const error = await failing(work);
  expect(error).toMatchObject({ code: 'callback_not_pure' });
  expect(String(error)).toMatch(message);
});

it('what is no input or output works, and what it throws is thrown', async () => {
  const computed = await purely('c', async () => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    process.stderr.write('');
    fs.writeSync(2, '');
    return crypto.subtle.digest('SHA-256', new TextEncoder().encode('a'));
  });
  expect(computed.byteLength).toBe(32);
  const boom = new Error('boom');
  expect(
    await failing(() => {
      throw boom;
    }),
  ).toBe(boom);
});

it('outside of callbacks, and beside one at work, everything works as before', async () => {
  const callback = purely('c', () => new Promise((resolve) => setTimeout(() => resolve('slow'), 50)));
  expect(await (await fetch(url)).text()).toBe('up');
  expect(await promisify(fs.exists)('/')).toBe(true);
  expect(await readFile(HERE, 'utf8')).toContain('purely');
  expect((await promisify(execFile)('true')).stdout).toBe('');
  expect(await callback).toBe('slow');
});
