import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { GrantInput } from '../../src/core/grants.js';
import { toolSpecOf } from '../../src/tools/define-tool.js';
import { type HttpRequestOptions, httpRequestTool } from '../../src/tools/http-request.js';
import { callTool, contextWith, failureOf } from './tool-context.js';

const open: Server[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
});

interface Served {
  readonly port: number;
  readonly requests: {
    readonly method: string;
    readonly url: string;
    readonly headers: IncomingMessage['headers'];
    readonly body: string;
  }[];
}

/** A real server on loopback that keeps what it was asked. */
async function serve(listener: RequestListener): Promise<Served> {
  const requests: Served['requests'] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const body = Buffer.concat(chunks).toString();
    requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
    listener(request, response);
  });
  open.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, requests };
}

const ALL: readonly GrantInput[] = ['network:http:*'];

/** Names that all lead to loopback, and a tool that may go there. */
const toolFor = (ports: readonly number[], options: HttpRequestOptions = {}) =>
  toolSpecOf(
    httpRequestTool({
      allowPrivateAddresses: ports.flatMap((port) => [`127.0.0.1:${port}`, `one.test:${port}`, `two.test:${port}`]),
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
      ...options,
    }),
  );

describe('one exchange', () => {
  it('gives status, headers and body', async () => {
    const { port, requests } = await serve((_request, response) => {
      response.writeHead(201, { 'content-type': 'text/plain', 'set-cookie': 'id=secret', 'x-a': ['1', '2'] });
      response.end('grün');
    });
    const answer = await callTool(
      toolFor([port]),
      {
        method: 'get',
        url: `http://one.test:${port}/a/../b?q=1#part`,
        headers: [{ name: 'Accept', value: 'text/plain' }],
        body: null,
      },
      contextWith([`network:http:get http://one.test:${port}/**`]),
    );
    expect(answer).toMatchObject({
      status: 201,
      url: `http://one.test:${port}/b?q=1`,
      body: 'grün',
      bodyEncoding: 'utf8',
      truncated: false,
    });
    const { headers } = answer as { headers: { name: string; value: string }[] };
    expect(headers.filter(({ name }) => name === 'x-a').map(({ value }) => value)).toEqual(['1', '2']);
    expect(headers.some(({ name }) => name === 'set-cookie')).toBe(false);
    expect(requests[0]).toMatchObject({
      method: 'GET',
      url: '/b?q=1',
      headers: {
        host: `one.test:${port}`,
        accept: 'text/plain',
        'accept-encoding': 'identity',
        'user-agent': 'holdfast',
      },
    });
    expect(requests[0]?.headers['idempotency-key']).toBeUndefined();
  });

  it('sends a body with the idempotency key of the call', async () => {
    const { port, requests } = await serve((_request, response) => response.end());
    const args = {
      method: 'post',
      url: `http://one.test:${port}/`,
      headers: [{ name: 'content-type', value: 'text/plain' }],
      body: 'grün',
    };
    await callTool(toolFor([port]), args, contextWith(ALL));
    expect(requests[0]).toMatchObject({
      method: 'POST',
      body: 'grün',
      headers: { 'content-length': '5', 'content-type': 'text/plain', 'idempotency-key': 'run-1:call-1' },
    });
    const odd = { ...contextWith(ALL), idempotencyKey: 'run-1:grün' };
    await callTool(toolFor([port]), { ...args, method: 'put' }, odd);
    expect(requests[1]?.headers['idempotency-key']).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  it('gives bytes that are no text as base64', async () => {
    const { port } = await serve((_request, response) => response.end(Buffer.from([0xff, 0x00])));
    const answer = await callTool(
      toolFor([port]),
      { method: 'get', url: `http://one.test:${port}/` },
      contextWith(ALL),
    );
    expect(answer).toMatchObject({ body: '/wA=', bodyEncoding: 'base64' });
  });

  it('cuts a long answer, between two characters', async () => {
    const { port } = await serve((_request, response) => {
      response.write('ü'.repeat(100));
      // Never ends: the connection is given up once there is enough.
    });
    const answer = await callTool(
      toolFor([port], { maxResponseBytes: 11 }),
      { method: 'get', url: `http://one.test:${port}/` },
      contextWith(ALL),
    );
    expect(answer).toMatchObject({ body: 'üüüüü', truncated: true });
  });

  it('does not decompress', async () => {
    const { port } = await serve((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(Buffer.from([0x1f, 0x8b, 0x08]));
    });
    const answer = await callTool(
      toolFor([port]),
      { method: 'get', url: `http://one.test:${port}/` },
      contextWith(ALL),
    );
    expect(answer).toMatchObject({ bodyEncoding: 'base64' });
  });

  it('stops when the call is cancelled: before the answer, within it, and while a name is looked up', async () => {
    const { port } = await serve((request, response) => {
      if (request.url === '/half') response.write('x');
    });
    const spec = toolFor([port]);
    const hanging = toolFor([port], { resolve: () => new Promise(() => {}) });
    for (const [tool, path] of [
      [spec, '/never'],
      [spec, '/half'],
      [hanging, '/'],
    ] as const) {
      const signal = AbortSignal.timeout(100);
      const call = callTool(
        tool,
        { method: 'get', url: `http://one.test:${port}${path}` },
        contextWith(ALL, { signal }),
      );
      await expect(call).rejects.toMatchObject({ name: 'TimeoutError' });
    }
  });

  it('says that an effect is not known when the connection breaks', async () => {
    const { port } = await serve((_request, response) => response.destroy());
    const failure = await failureOf(
      callTool(toolFor([port]), { method: 'post', url: `http://one.test:${port}/` }, contextWith(ALL)),
    );
    expect(failure).toMatchObject({ code: 'tool_failed', message: expect.stringContaining('is not known') });
  });

  it('bounds the headers of an answer', async () => {
    const { port } = await serve((_request, response) => {
      response.writeHead(200, { 'x-long': 'x'.repeat(20_000) });
      response.end();
    });
    const failure = await failureOf(
      callTool(toolFor([port]), { method: 'get', url: `http://one.test:${port}/` }, contextWith(ALL)),
    );
    expect(failure.code).toBe('tool_failed');
  });
});

describe('arguments', () => {
  const spec = toolFor([1]);
  it.each<[string, object]>([
    ['method', { method: 'trace', url: 'https://x.example/' }],
    ['method', { method: 'GET', url: 'https://x.example/' }],
    ['url', { method: 'get', url: 'ftp://x.example/' }],
    ['url', { method: 'get', url: '/relative' }],
    ['body', { method: 'get', url: 'https://x.example/', body: 'x' }],
    ['headers.0.name', { method: 'get', url: 'https://x.example/', headers: [{ name: 'Host', value: 'evil' }] }],
    [
      'headers.0.name',
      { method: 'get', url: 'https://x.example/', headers: [{ name: 'Transfer-Encoding', value: 'chunked' }] },
    ],
    [
      'headers.0.name',
      { method: 'get', url: 'https://x.example/', headers: [{ name: 'Proxy-Authorization', value: 'x' }] },
    ],
    [
      'headers.0.name',
      { method: 'get', url: 'https://x.example/', headers: [{ name: 'Idempotency-Key', value: 'x' }] },
    ],
    ['headers.0.name', { method: 'get', url: 'https://x.example/', headers: [{ name: 'a b', value: 'x' }] }],
    [
      'headers.0.value',
      { method: 'get', url: 'https://x.example/', headers: [{ name: 'a', value: 'x\r\nHost: evil' }] },
    ],
  ])('names %s in %j', (field, args) => {
    expect(spec.parse(JSON.parse(JSON.stringify(args)))).toMatchObject({
      ok: false,
      problem: expect.stringContaining(`\`${field}\``),
    });
  });
});

describe('what it may reach', () => {
  it.each([
    'http://127.0.0.1:PORT/',
    'http://localhost:PORT/',
    'http://0.0.0.0:PORT/',
    'http://0x7f.1:PORT/',
    'http://2130706433:PORT/',
    'http://017700000001:PORT/',
    'http://127.1:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://[::ffff:7f00:1]:PORT/',
    'http://[64:ff9b::7f00:1]:PORT/',
    'http://１２７.0.0.1:PORT/',
    'http://169.254.169.254/latest/meta-data/',
    'http://10.0.0.1/',
  ])('not %s', async (address) => {
    const { port, requests } = await serve((_request, response) => response.end('reached'));
    const spec = toolSpecOf(httpRequestTool());
    const failure = await failureOf(
      callTool(spec, { method: 'get', url: address.replace('PORT', String(port)) }, contextWith(ALL)),
    );
    expect(failure).toMatchObject({
      code: 'capability_denied',
      message: expect.stringContaining('not a public address'),
    });
    expect(requests).toEqual([]);
  });

  it('not a name of which one address is inside', async () => {
    const { port, requests } = await serve((_request, response) => response.end());
    const spec = toolSpecOf(
      httpRequestTool({
        resolve: async () => [
          { address: '93.184.215.14', family: 4 },
          { address: '127.0.0.1', family: 4 },
        ],
      }),
    );
    const failure = await failureOf(
      callTool(spec, { method: 'get', url: `http://mixed.test:${port}/` }, contextWith(ALL)),
    );
    expect(failure.code).toBe('capability_denied');
    expect(requests).toEqual([]);
  });

  it('resolves once, and connects to what was checked', async () => {
    const { port, requests } = await serve((_request, response) => response.end());
    let asked = 0;
    const resolve = async () => {
      asked += 1;
      return [{ address: asked === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }];
    };
    await callTool(toolFor([port], { resolve }), { method: 'get', url: `http://one.test:${port}/` }, contextWith(ALL));
    expect(asked).toBe(1);
    expect(requests).toHaveLength(1);
  });

  it('says when a name has no address', async () => {
    const none = toolFor([1], { resolve: async () => [] });
    const failing = toolFor([1], { resolve: async () => Promise.reject(new Error('ENOTFOUND')) });
    for (const spec of [none, failing]) {
      const failure = await failureOf(callTool(spec, { method: 'get', url: 'http://one.test:1/' }, contextWith(ALL)));
      expect(failure).toMatchObject({ code: 'tool_failed', message: expect.stringContaining('one.test') });
    }
  });

  it('only what is granted, on the canonical URL', async () => {
    const { port, requests } = await serve((_request, response) => response.end());
    const grants: GrantInput[] = [`network:http:get http://one.test:${port}/v1/**`];
    for (const url of ['/v1/../admin', '/v1/..%2fadmin', '/admin', '//v1/x']) {
      const call = callTool(
        toolFor([port]),
        { method: 'get', url: `http://one.test:${port}${url}` },
        contextWith(grants),
      );
      expect((await failureOf(call)).code).toBe('capability_denied');
    }
    const post = callTool(
      toolFor([port]),
      { method: 'post', url: `http://one.test:${port}/v1/x` },
      contextWith(grants),
    );
    expect((await failureOf(post)).code).toBe('capability_denied');
    expect(requests).toEqual([]);
  });

  it('does not let a proxy of the environment take part', async () => {
    const { port, requests } = await serve((_request, response) => response.end('direct'));
    const proxy = await serve((_request, response) => response.end('proxy'));
    const names = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'];
    for (const name of names)
      process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : `http://127.0.0.1:${proxy.port}`;
    try {
      const answer = await callTool(
        toolFor([port]),
        { method: 'get', url: `http://one.test:${port}/` },
        contextWith(ALL),
      );
      expect(answer).toMatchObject({ body: 'direct' });
    } finally {
      for (const name of names) delete process.env[name];
    }
    expect(requests).toHaveLength(1);
    expect(proxy.requests).toEqual([]);
  });

  it('speaks TLS to https, with the name and to the address that was checked', async () => {
    const hellos: Buffer[] = [];
    const server = createTcpServer((socket) => {
      socket.once('data', (bytes) => {
        hellos.push(bytes);
        socket.destroy();
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const call = callTool(toolFor([port]), { method: 'get', url: `https://one.test:${port}/` }, contextWith(ALL));
    expect((await failureOf(call)).code).toBe('tool_failed');
    server.close();
    expect(hellos[0]?.[0]).toBe(0x16);
    expect(hellos[0]?.includes('one.test')).toBe(true);
  });

  it('refuses a private address that is not written host:port', () => {
    for (const entry of ['127.0.0.1', 'LOCALHOST:80', 'http://x:1', 'x:99999', 'a@b:1', '']) {
      expect(() => httpRequestTool({ allowPrivateAddresses: [entry] })).toThrow(/host:port/);
    }
    expect(() => httpRequestTool({ allowPrivateAddresses: ['localhost:80', '[::1]:443'] })).not.toThrow();
  });
});

describe('redirects', () => {
  const redirecting = (status: number, location: (path: string) => string) =>
    serve((request, response) => {
      if (request.url === '/end') response.end('end');
      else response.writeHead(status, { location: location(request.url ?? '') }).end();
    });

  it('are followed when every hop is granted', async () => {
    const { port, requests } = await redirecting(302, () => '/end');
    const context = contextWith([`network:http:get http://one.test:${port}/**`]);
    const answer = await callTool(toolFor([port]), { method: 'get', url: `http://one.test:${port}/start` }, context);
    expect(answer).toMatchObject({ status: 200, url: `http://one.test:${port}/end`, body: 'end' });
    expect(context.asked.at(-1)).toBe(`network:http:get http://one.test:${port}/end`);
    expect(requests).toHaveLength(2);
  });

  it.each<[string, (port: number) => string]>([
    ['another host', (port) => `http://two.test:${port}/end`],
    ['another path', () => '/outside'],
    ['another scheme', (port) => `https://one.test:${port}/v1/x`],
    ['another protocol', () => 'file:///etc/passwd'],
    ['a user name', (port) => `http://user@one.test:${port}/v1/x`],
    ['an encoded step upwards', () => '/v1/..%2foutside'],
  ])('are not followed to %s that is not granted', async (_kind, location) => {
    const served = await serve((_request, response) =>
      response.writeHead(302, { location: location(served.port) }).end(),
    );
    const { port, requests } = served;
    const context = contextWith([`network:http:get http://one.test:${port}/v1/**`]);
    const failure = await failureOf(
      callTool(toolFor([port]), { method: 'get', url: `http://one.test:${port}/v1/a` }, context),
    );
    expect(failure.code).toBe('capability_denied');
    expect(requests).toHaveLength(1);
  });

  it('are not followed to an address inside', async () => {
    const inside = await serve((_request, response) => response.end('inside'));
    const { port } = await redirecting(302, () => `http://127.0.0.1:${inside.port}/`);
    const failure = await failureOf(
      callTool(toolFor([port]), { method: 'get', url: `http://one.test:${port}/` }, contextWith(ALL)),
    );
    expect(failure).toMatchObject({ code: 'capability_denied', message: expect.stringContaining('public') });
    expect(inside.requests).toEqual([]);
  });

  it('carry no credentials to another host', async () => {
    const second = await serve((_request, response) => response.end());
    const { port, requests } = await redirecting(307, () => `http://two.test:${second.port}/end`);
    const headers = ['Authorization', 'Cookie', 'X-Api-Key', 'Accept'].map((name) => ({ name, value: 'secret' }));
    const args = { method: 'post', url: `http://one.test:${port}/`, headers, body: 'data' };
    await callTool(toolFor([port, second.port]), args, contextWith(ALL));
    expect(requests[0]?.headers).toMatchObject({ authorization: 'secret', cookie: 'secret', 'x-api-key': 'secret' });
    const [followed] = second.requests;
    expect(followed).toMatchObject({ method: 'POST', body: 'data', headers: { accept: 'secret' } });
    for (const name of ['authorization', 'cookie', 'x-api-key', 'idempotency-key'])
      expect(followed?.headers[name]).toBeUndefined();
  });

  it('keep them for the same host', async () => {
    const { port, requests } = await redirecting(308, () => '/end');
    const args = {
      method: 'post',
      url: `http://one.test:${port}/`,
      headers: [{ name: 'Authorization', value: 'x' }],
      body: 'data',
    };
    await callTool(toolFor([port]), args, contextWith(ALL));
    expect(requests[1]).toMatchObject({
      method: 'POST',
      body: 'data',
      headers: { authorization: 'x', 'idempotency-key': 'run-1:call-1' },
    });
  });

  it.each([301, 302, 303])('%i turns a POST into a GET, which must be granted too', async (status) => {
    const { port, requests } = await redirecting(status, () => '/end');
    const args = { method: 'post', url: `http://one.test:${port}/`, body: 'data' };
    await callTool(toolFor([port]), args, contextWith(ALL));
    expect(requests[1]).toMatchObject({ method: 'GET', body: '' });
    expect(requests[1]?.headers['idempotency-key']).toBeUndefined();
    const failure = await failureOf(callTool(toolFor([port]), args, contextWith(['network:http:post'])));
    expect(failure.code).toBe('capability_denied');
  });

  it('come to an end', async () => {
    const { port, requests } = await redirecting(302, (path) => `${path}x`);
    const failure = await failureOf(
      callTool(
        toolFor([port], { maxRedirects: 3 }),
        { method: 'get', url: `http://one.test:${port}/` },
        contextWith(ALL),
      ),
    );
    expect(failure).toMatchObject({ code: 'tool_failed', message: expect.stringContaining('more than 3 times') });
    expect(requests).toHaveLength(4);
  });
});

describe('the variants', () => {
  it('reading alone is pure, everything else is unsafe and asks', () => {
    expect(toolSpecOf(httpRequestTool())).toMatchObject({
      name: 'http_request',
      effect: 'unsafe',
      onUnknownEffect: 'ask',
    });
    expect(toolSpecOf(httpRequestTool({ methods: ['get'] }))).toMatchObject({ name: 'http_get', effect: 'pure' });
    expect(toolSpecOf(httpRequestTool({ methods: ['get', 'post'] }))).toMatchObject({
      name: 'http_request',
      effect: 'unsafe',
    });
    expect(
      toolSpecOf(httpRequestTool({ methods: ['get'] })).parse({ method: 'post', url: 'https://x.example/' }),
    ).toMatchObject({ ok: false });
    expect(() => httpRequestTool({ methods: [] })).toThrow(/names no method/);
  });
});
