import { afterEach, describe, expect, it } from 'vitest';
import { toolSpecOf } from '../../src/tools/define/define-tool.js';
import { httpRequestTool } from '../../src/tools/http/http-request.js';
import { ALL, closeServers, serve, toolFor } from './http-server.js';
import { callTool, contextWith, failureOf } from './tool-context.js';

afterEach(closeServers);

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

  it('take the headers that APIs ask for', () => {
    for (const name of [
      'Authorization',
      'X-Request-Id',
      'X-Api-Key',
      'X-GitHub-Api-Version',
      'X-Requested-With',
      'Accept',
    ])
      expect(spec.parse({ method: 'get', url: 'https://x.example/', headers: [{ name, value: 'x' }] }).ok, name).toBe(
        true,
      );
  });

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
    ...[
      ...['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', 'x_http_method_override', 'X-Original-URL'],
      ...['X-Rewrite-URL', 'X-Original-URI', 'X-Original-Host', 'X-Forwarded-Host', 'X-Forwarded-Prefix', 'X-Host'],
      ...['X-Envoy-Original-Path', 'X-Override-URL', 'X-Replaced-Path', 'X-Accel-Redirect', 'X-Proxy-URL', 'Forwarded'],
      ...['X.HTTP.Method.Override', 'X-HTTP-Verb', 'X-HTTP-Host-Override', 'X-HTTP-DestinationURL', 'X-Forward-For'],
      ...['X-Middleware-Subrequest', 'X-Invoke-Path', 'X-Matched-Path', 'X-Backend-Host', 'X-Upstream', 'X-Target-URL'],
      ...['Proxy', 'Base-Url', 'Request-Uri', 'Path-Info', 'Script-Name', 'Destination', 'Translate', '_method'],
      ...['X-Real-IP', 'X-Client-IP', 'True-Client-IP', 'CF-Connecting-IP', 'X-Remote-Addr', 'X-Originating-IP'],
      ...[
        'X-ProxyUser-Ip',
        'X-Custom-IP-Authorization',
        'Client-IP',
        'X-Remote-User',
        'X-Webauth-User',
        'X-SSL-Client-S-DN',
      ],
      ...[
        'X-Auth-Request-User',
        'X-Authenticated-User',
        'X-MS-Client-Principal',
        'X-Amzn-Oidc-Identity',
        'X-Client-Cert',
      ],
      ...['X-Consumer-Username', 'Tailscale-User-Login', 'X-Appengine-User-Email', 'X-Userinfo'],
    ].map((name): [string, object] => [
      'headers.0.name',
      { method: 'get', url: 'https://x.example/', headers: [{ name, value: '/admin' }] },
    ]),
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
