import { afterEach, describe, expect, it } from 'vitest';
import { ALL, closeServers, serve, toolFor } from './http-server.js';
import { callTool, contextWith, failureOf } from './tool-context.js';

afterEach(closeServers);

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
