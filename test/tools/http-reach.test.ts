import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { GrantInput } from '../../src/core/grants/grants.js';
import { toolSpecOf } from '../../src/tools/define/define-tool.js';
import { httpRequestTool } from '../../src/tools/http/http-request.js';
import { ALL, closeServers, serve, toolFor } from './http-server.js';
import { callTool, contextWith, failureOf } from './tool-context.js';

afterEach(closeServers);

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

  it('not a name with one address inside', async () => {
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
