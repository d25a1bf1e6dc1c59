import type { RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import fastify from 'fastify';
import { Hono } from 'hono';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from '../../src/client/client.js';
import { createRouter, type HttpRouter } from '../../src/http/router.js';
import { describeEachDatabase } from '../harness/database.js';
import { type Door, openDoor, TOKENS } from './door.js';
import { listening } from './listening.js';

/** The ways of docs/agents/in-your-server.md to have a server and the operations on one port. */

interface OwnServer {
  readonly url: string;
  close(): Promise<unknown>;
}

/** Every server has `POST /ask` of its own, which parses its body and asks the engine. */
type Start = (router: HttpRouter, ask: (question: string) => Promise<string>) => Promise<OwnServer>;

const onFastify: Start = async (router, ask) => {
  const app = fastify({ forceCloseConnections: true });
  app.addHook('onRequest', async (request, reply) => {
    if (!request.url.startsWith('/agents/')) return;
    reply.hijack();
    router.handler(request.raw, reply.raw);
  });
  app.post<{ Body: { question: string } }>('/ask', async ({ body }) => ({ said: await ask(body.question) }));
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  return { url, close: () => app.close() };
};

/** For Next.js and all others that give a listener of `node:http`. */
const beside = (router: HttpRouter, others: RequestListener) =>
  listening((request, response) =>
    request.url?.startsWith('/agents/') ? router.handler(request, response) : others(request, response),
  );

const onHono: Start = (router, ask) => {
  const app = new Hono();
  app.post('/ask', async (context) => context.json({ said: await ask((await context.req.json()).question) }));
  return beside(router, getRequestListener(app.fetch));
};

const onNodeHttp: Start = (router, ask) =>
  beside(router, (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => void ask(JSON.parse(body).question).then((said) => response.end(JSON.stringify({ said }))));
  });

describeEachDatabase('an engine in a server of its user', (kind) => {
  let door: Door;
  beforeAll(async () => {
    door = await openDoor(kind);
  });
  afterAll(() => door.close());

  describe.each([
    ['Fastify', onFastify],
    ['Hono', onHono],
    ['node:http', onNodeHttp],
  ])('%s', (_, start) => {
    let router: HttpRouter;
    let server: OwnServer;
    beforeAll(async () => {
      router = createRouter(door.engine, { tokens: Object.values(TOKENS), path: '/agents' });
      const caller = { actor: 'ann', role: 'operator', tenant: 'default' } as const;
      server = await start(router, async (question) => {
        const { id } = await door.engine.startRun({ agent: 'echo', input: question }, caller);
        const { output } = await door.engine.getRun(id, caller, { waitMs: 30_000 });
        return String(output);
      });
    });
    afterAll(async () => {
      router.end();
      await server.close();
    });

    test('its own routes ask the engine', async () => {
      const headers = { 'Content-Type': 'application/json' };
      const response = await fetch(`${server.url}/ask`, { method: 'POST', headers, body: '{"question":"hi"}' });
      expect(await response.json()).toEqual({ said: 'hello' });
    });

    test('a client starts a run, streams its events and decides below the path', async () => {
      const otto = createClient({ url: `${server.url}/agents`, token: TOKENS.otto.token });
      const { id } = await otto.startRun({ agent: 'payer', input: 'go' });
      const paused = await otto.getRun(id, { wait: 30 });
      const anna = createClient({ url: `${server.url}/agents`, token: TOKENS.anna.token });
      await anna.decide(String(paused.interruptions[0]), { verdict: 'approve' });
      const kinds: string[] = [];
      for await (const { kind: event } of otto.streamEvents(id)) kinds.push(event);
      expect(kinds.at(-1)).toBe('run.completed');
    });

    test('an answer has the headers of the operations, and says where a run is', async () => {
      const headers = { Authorization: `Bearer ${TOKENS.otto.token}`, 'Content-Type': 'application/json' };
      const body = JSON.stringify({ agent: 'echo', input: 'go' });
      const started = await fetch(`${server.url}/agents/api/v1/runs`, { method: 'POST', headers, body });
      expect(started.headers.get('location')).toMatch(/^\/agents\/api\/v1\/runs\/run_/);
      expect(started.headers.get('x-powered-by')).toBeNull();
      const refused = await fetch(`${server.url}/agents/api/v1/runs`);
      expect(await refused.json()).toMatchObject({ status: 401, instance: '/agents/api/v1/runs' });
    });
  });

  test.each(['agents', '/', '/a/', '/:x', '/a b'])('the path %j is none', (path) => {
    expect(() => createRouter(door.engine, { tokens: [TOKENS.otto], path })).toThrow('The path of the router is');
  });
});
