import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EgressProxy } from '../../src/containers/egress/egress-proxy.js';
import { checkedAddresses } from '../../src/tools/http/http-address.js';

/** What the proxy of containers lets through, spoken to over its socket. */

const upstream = http.createServer((request, response) => {
  let body = '';
  request.on('data', (piece) => {
    body += String(piece);
  });
  response.setHeader('X-Answer-Hop', '1').setHeader('X-Kept', '1').setHeader('Connection', 'close, X-Answer-Hop');
  request.on('end', () => response.end(JSON.stringify({ url: request.url, headers: request.headers, body })));
});
let dir = '';
let port = 0;
const denied: string[] = [];
const asked: string[] = [];
const open: EgressProxy[] = [];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'egress-'));
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  port = (upstream.address() as AddressInfo).port;
});
afterAll(async () => {
  for (const proxy of open) proxy.close();
  upstream.closeAllConnections();
  upstream.close();
  await rm(dir, { recursive: true });
});

/** A name is at what it is said to be at; what is not, is where it is in truth. Addresses of the test's own server count as public. */
const places: Record<string, readonly string[]> = {
  'allowed.test': ['127.0.0.1'],
  'inner.test': ['10.0.0.1'],
  'mixed.test': ['93.184.216.34', '169.254.169.254'],
  'gone.test': [],
};
async function proxied(rules: readonly string[], name: string): Promise<string> {
  const path = join(dir, name);
  const proxy = new EgressProxy({
    rules,
    onDenied: ({ host, port: at, why }) => denied.push(`${host}:${at} ${why}`),
    addressesOf: async (host, at) => {
      asked.push(host);
      const resolve = async (of: string) => (places[of] ?? []).map((address) => ({ address, family: 4 }));
      return checkedAddresses(new URL(`http://${host}:${at}`), resolve, new Set([`allowed.test:${port}`]));
    },
  });
  await proxy.listen(path);
  open.push(proxy);
  return path;
}

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
  readonly headers: http.IncomingHttpHeaders;
}
const get = (socketPath: string, path: string, options: http.RequestOptions = {}, body = ''): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const request = http.request({ socketPath, path, agent: false, ...options }, (response) => {
      let text = '';
      response.on('data', (piece) => {
        text += String(piece);
      });
      response.on('end', () => resolve({ status: response.statusCode, text, headers: response.headers }));
    });
    request.on('error', reject);
    request.end(body);
  });
const tunnel = async (socketPath: string, to: string, text: string): Promise<string> => {
  const socket = connect(socketPath);
  socket.write(`CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\n\r\n`);
  let said = '';
  socket.setEncoding('latin1').on('data', (piece) => {
    if (said === '' && String(piece).includes(' 200 ')) socket.end(text);
    said += String(piece);
  });
  await once(socket, 'close');
  return said;
};

it('lets requests through to what a rule names, without what is of the hop', async () => {
  const path = await proxied([`allowed.test:${port}`], 'a');
  const headers = { Host: 'other.test', 'Proxy-Authorization': 'secret', 'X-Own': 'kept' };
  const found = await get(path, `http://allowed.test:${port}/a?b=c`, { method: 'POST', headers }, 'body');
  expect(found.status).toBe(200);
  const seen = JSON.parse(found.text);
  expect(seen).toMatchObject({
    url: '/a?b=c',
    body: 'body',
    headers: { host: `allowed.test:${port}`, 'x-own': 'kept' },
  });
  expect(seen.headers).not.toHaveProperty('proxy-authorization');
});

it('leaves out what Connection names, both ways, and never what the request needs', async () => {
  const path = await proxied([`allowed.test:${port}`], 'c');
  const headers = { Connection: 'X-Hop, content-type , Host', 'X-Hop': '1', 'Content-Type': 'text/x', 'X-Own': 'kept' };
  const found = await get(path, `http://allowed.test:${port}/hop`, { method: 'POST', headers }, 'body');
  const seen = JSON.parse(found.text);
  expect(seen).toMatchObject({ body: 'body', headers: { host: `allowed.test:${port}`, 'x-own': 'kept' } });
  expect(seen.headers).not.toHaveProperty('x-hop');
  expect(seen.headers).not.toHaveProperty('content-type');
  expect(found.headers).toMatchObject({ 'x-kept': '1' });
  expect(found.headers).not.toHaveProperty('x-answer-hop');
});

it('lets tunnels through to it', async () => {
  const path = await proxied([`allowed.test:${port}`], 't');
  const said = await tunnel(path, `allowed.test:${port}`, 'GET /in HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  expect(said).toContain('HTTP/1.1 200 Connection Established');
  expect(said).toContain('"url":"/in"');
});

it('denies what no rule names, which it does not even look up, and says so to whom it is told', async () => {
  const path = await proxied([`allowed.test:${port}`], 'd');
  asked.length = 0;
  denied.length = 0;
  for (const url of [
    'http://evil.test/',
    'http://allowed.test/',
    `http://allowed.test.evil.test:${port}/`,
    'http://169.254.169.254/latest',
    `http://127.0.0.1:${port}/`,
    `http://[::1]:${port}/`,
  ])
    expect((await get(path, url)).status, url).toBe(403);
  expect(await tunnel(path, 'evil.test:443', '')).toContain('403 Forbidden');
  expect(asked).toEqual([]);
  expect(denied).toHaveLength(7);
  expect(denied[0]).toBe('evil.test:80 no rule of allowedEgress names it');
  expect((await get(path, `http://allowed.test:${port}/`)).status).toBe(200);
});

it('denies what a rule names and what is not public, by its addresses as by its name', async () => {
  const path = await proxied(['inner.test', 'mixed.test', 'gone.test', '169.254.169.254', '127.0.0.1', '*.test'], 'p');
  denied.length = 0;
  for (const host of ['inner.test', 'mixed.test', 'gone.test', '169.254.169.254', '127.0.0.1', 'any.test']) {
    expect(await get(path, `http://${host}/`), host).toMatchObject({
      status: 403,
      text: `${host}:80 may not be reached from this container\n`,
    });
    expect(await tunnel(path, `${host}:443`, ''), host).toContain('403 Forbidden');
  }
  expect(denied.join()).toContain('169.254.169.254, which is not a public address');
});

it('connects to the address that was looked at: a name that is elsewhere a moment later leads nowhere else', async () => {
  const path = await proxied([`allowed.test:${port}`], 'r');
  asked.length = 0;
  // The name is in no DNS: a second look-up would find nothing.
  expect((await get(path, `http://allowed.test:${port}/`)).status).toBe(200);
  expect(asked).toEqual(['allowed.test']);
});

it('refuses what is no request to a proxy, and outlives what is no HTTP', async () => {
  const path = await proxied([`allowed.test:${port}`], 'n');
  for (const url of ['/', 'https://allowed.test/', 'ftp://allowed.test/', `http://a:b@allowed.test:${port}/`])
    expect((await get(path, url)).status, url).toBe(400);
  for (const to of ['allowed.test', 'allowed.test:x', `allowed.test:${port}/a`, `a@allowed.test:${port}`])
    expect(await tunnel(path, to, ''), to).toContain('400 Bad Request');
  const socket = connect(path);
  socket.end('\0\0nonsense\r\n\r\n');
  socket.resume();
  await once(socket, 'close');
  expect((await get(path, `http://allowed.test:${port}/`)).status).toBe(200);
});

it('takes the place of a predecessor on its socket, whose end does not take it away', async () => {
  const path = await proxied([], 's');
  expect((await get(path, `http://allowed.test:${port}/`)).status).toBe(403);
  await proxied([`allowed.test:${port}`], 's');
  open.at(-2)?.close();
  expect((await get(path, `http://allowed.test:${port}/`)).status).toBe(200);
});
