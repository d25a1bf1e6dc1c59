import { Agent, MCPServerStreamableHttp } from '@openai/agents';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { declaredSecrets } from '../../src/engine/secrets/declared-secrets.js';
import { credentialFetch, httpRequestTool, secret } from '../../src/index.js';
import { withoutKnownSecrets } from '../../src/models/secrets/known-secrets.js';
import type { BoundCredential } from '../../src/tools/http/bound-credential.js';
import { ALL, closeServers, serve, toolFor } from './http-server.js';
import { callTool, contextWith } from './tool-context.js';

const KEY = 'Bc83mZq0LpXw72TbVr19';
vi.stubEnv('TEST_BOUND_KEY', KEY);
vi.stubEnv('TEST_OTHER_VARIABLE', 'Ov57bJu3KaRf08Wi');
afterAll(() => vi.unstubAllEnvs());
afterEach(closeServers);

const bound = (port: number, more: Partial<BoundCredential> = {}): BoundCredential => ({
  origin: `http://one.test:${port}`,
  secret: secret.env('TEST_BOUND_KEY'),
  ...more,
});
const get = (port: number, path = '/', host = 'one.test') => ({ method: 'get', url: `http://${host}:${port}${path}` });

describe('a credential that is bound to an origin', () => {
  it('goes with requests to it, in place of what the model says, and comes back in no answer', async () => {
    const { port, requests } = await serve((request, response) => {
      const said = `${request.headers.authorization} ${Buffer.from(KEY).toString('base64')}`;
      response.setHeader('X-Echo', said).end(said);
    });
    const tool = toolFor([port], { credentials: [bound(port)] });
    const headers = [{ name: 'authorization', value: 'Bearer of-the-model' }];
    const context = contextWith(ALL);
    const answer = await callTool(tool, { ...get(port), headers }, context);
    expect(requests.map((request) => request.headers.authorization)).toEqual([`Bearer ${KEY}`]);
    expect(JSON.stringify([answer, context.asked])).not.toMatch(
      new RegExp(`${KEY}|${Buffer.from(KEY).toString('base64')}`),
    );
    expect(answer).toMatchObject({ body: expect.stringMatching(/^Bearer \[redacted\] \[redacted\].{0,2}$/) });
  });

  it('goes in another header, and with others', async () => {
    const { port, requests } = await serve((_request, response) => response.end());
    const credentials = [bound(port, { header: 'X-Key' }), bound(port, { header: 'Authorization', prefix: 'token ' })];
    await callTool(toolFor([port], { credentials }), get(port), contextWith(ALL));
    expect(requests[0]?.headers).toMatchObject({ 'x-key': KEY, authorization: `token ${KEY}` });
  });

  it('goes to no other host, port or scheme', async () => {
    const { port, requests } = await serve((_request, response) => response.end());
    const other = await serve((_request, response) => response.end());
    const tool = toolFor([port, other.port], { credentials: [bound(port)] });
    await callTool(tool, get(port, '/', 'two.test'), contextWith(ALL));
    await callTool(tool, get(other.port), contextWith(ALL));
    expect(JSON.stringify([requests, other.requests])).not.toContain(KEY);
  });

  it('follows redirects of its own origin, none to another one, and none that comes from another one', async () => {
    const { port, requests } = await serve((request, response) => {
      if (request.url === '/end') return response.end();
      const to =
        request.url === '/away'
          ? `http://two.test:${port}/back`
          : request.url === '/back'
            ? `http://one.test:${port}/end`
            : '/end';
      return response.writeHead(302, { location: to }).end();
    });
    const tool = toolFor([port], { credentials: [bound(port)] });
    const sent = async (path: string, host = 'one.test') => {
      requests.splice(0);
      await callTool(tool, get(port, path, host), contextWith(ALL));
      return requests.map(({ url, headers }) => `${url} ${headers.authorization === undefined ? 'without' : 'with'}`);
    };
    expect(await sent('/own')).toEqual(['/own with', '/end with']);
    expect(await sent('/away')).toEqual(['/away with', '/back without', '/end without']);
    expect(await sent('/back', 'two.test')).toEqual(['/back without', '/end without']);
  });

  it('is read again for the next request after it was refused', async () => {
    const { port, requests } = await serve((_request, response) => response.writeHead(401).end());
    const tool = toolFor([port], { credentials: [bound(port)] });
    await callTool(tool, get(port), contextWith(ALL));
    vi.stubEnv('TEST_BOUND_KEY', 'Nk26wGm2OvPh83NjTk66');
    await callTool(tool, get(port), contextWith(ALL));
    await callTool(tool, get(port), contextWith(ALL));
    vi.stubEnv('TEST_BOUND_KEY', KEY);
    expect(requests.at(-1)?.headers.authorization).toBe('Bearer Nk26wGm2OvPh83NjTk66');
  });

  it.each<[string, object]>([
    ['a path', { origin: 'https://api.example/v1' }],
    ['no encryption', { origin: 'http://api.example' }],
    ['a user', { origin: 'https://ann@api.example' }],
    ['the host as its header', { header: 'Host' }],
    ['a line break', { prefix: 'a\r\nb' }],
    ['a text as its secret', { secret: KEY }],
  ])('is refused with %s, and nothing of it is said', (_title, more) => {
    const declared = { origin: 'https://api.example', secret: secret.env('TEST_BOUND_KEY'), ...more };
    const made = () => Reflect.apply(httpRequestTool, null, [{ credentials: [declared] }]);
    expect(made).toThrow(/credentials/);
    expect(made).not.toThrow(new RegExp(KEY));
  });

  it('is known before the first request', async () => {
    vi.stubEnv('TEST_EARLY_KEY', 'Ek95gDk1ZsHo38PvMv11');
    vi.stubEnv('TEST_EARLY_MCP', 'Em90tKi6XqLc47YsHd28');
    const of = (name: string) => [{ origin: 'https://api.example', secret: secret.env(name) }];
    const tools = [httpRequestTool({ credentials: of('TEST_EARLY_KEY') })];
    const url = 'https://api.example/mcp';
    const mcpServers = [new MCPServerStreamableHttp({ url, fetch: credentialFetch(of('TEST_EARLY_MCP')) })];
    const places = declaredSecrets({ agents: [new Agent({ name: 'a', tools, mcpServers })] });
    const read = await Promise.all(places.map((place) => place.read().catch(() => '')));
    expect(read).toEqual(expect.arrayContaining(['Ek95gDk1ZsHo38PvMv11', 'Em90tKi6XqLc47YsHd28']));
  });
});

describe('a fetch with credentials', () => {
  it('sends them to their origin, to no other one, and follows no redirect', async () => {
    const { port, requests } = await serve((request, response) => {
      if (request.url === '/away') response.writeHead(307, { location: '/elsewhere' }).end();
      else response.end('{}');
    });
    const send = credentialFetch([{ origin: `http://127.0.0.1:${port}`, secret: secret.env('TEST_BOUND_KEY') }]);
    await send(`http://127.0.0.1:${port}/mcp`, { method: 'POST', body: '{}', headers: { 'Content-Type': 'a/b' } });
    await send(`http://localhost:${port}/mcp`);
    await expect(send(`http://127.0.0.1:${port}/away`)).rejects.toThrow(/redirects, which is not followed/);
    expect(requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${KEY}`, undefined, `Bearer ${KEY}`]);
    expect(requests[0]).toMatchObject({ method: 'POST', body: '{}', headers: { 'content-type': 'a/b' } });
    expect(withoutKnownSecrets(KEY)).toBe('[redacted]');
  });
});

describe('a command that prints a secret', () => {
  const printed = (options?: { readonly env?: readonly string[] }) =>
    secret.command([process.execPath, '-p', 'JSON.stringify(process.env)'], options).read();

  it('inherits the variables that are stated, and no other', async () => {
    expect(await printed()).not.toMatch(/TEST_BOUND_KEY|TEST_OTHER_VARIABLE|Ov57bJu3KaRf08Wi/);
    const text = await printed({ env: ['TEST_OTHER_VARIABLE', 'TEST_NOT_SET'] });
    expect(JSON.parse(text)).toMatchObject({ PATH: process.env['PATH'], TEST_OTHER_VARIABLE: 'Ov57bJu3KaRf08Wi' });
    expect(text).not.toMatch(/TEST_BOUND_KEY|TEST_NOT_SET/);
  });
});
