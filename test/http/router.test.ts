import express, { type ErrorRequestHandler } from 'express';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Client, createClient } from '../../src/client/client.js';
import type { HoldfastError } from '../../src/core/errors/errors.js';
import { createRouter, type HttpRouter } from '../../src/http/router.js';
import { describeEachDatabase } from '../harness/database.js';
import { type Door, openDoor, TOKENS } from './door.js';
import { listening } from './listening.js';

describeEachDatabase('the router in an Express application', (kind) => {
  let door: Door;
  let router: HttpRouter;
  let server: Awaited<ReturnType<typeof listening>>;
  let otto: Client;
  const failures: HoldfastError[] = [];
  beforeAll(async () => {
    door = await openDoor(kind);
    router = createRouter(door.engine, { tokens: Object.values(TOKENS), maxBodyBytes: 2000 });
    const app = express();
    app.get('/', (_request, response) => void response.send('own page'));
    app.use('/agents', router.handler);
    app.use(express.json());
    app.use('/too-late', router.handler);
    const fail: ErrorRequestHandler = (error, _request, response, _next) => {
      failures.push(error);
      response.status(500).end();
    };
    app.use(fail);
    server = await listening(app);
    otto = createClient({ url: `${server.url}/agents`, token: TOKENS.otto.token });
  });
  afterAll(async () => {
    router.end();
    await server.close();
    await door.close();
  });

  test('serves the operations below its path, and nothing beside it', async () => {
    const { id } = await otto.startRun({ agent: 'echo', input: 'go' });
    const kinds: string[] = [];
    for await (const { kind } of otto.streamEvents(id)) kinds.push(kind);
    expect(kinds.at(-1)).toBe('run.completed');
    expect(await (await fetch(server.url)).text()).toBe('own page');
    expect((await fetch(`${server.url}/api/v1/runs`)).status).toBe(404);
  });

  test('says where a run is that was started, and what was refused, with its path', async () => {
    const response = await fetch(`${server.url}/agents/api/v1/runs`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${TOKENS.otto.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ agent: 'echo', input: 'go' }),
    });
    expect(response.headers.get('location')).toMatch(/^\/agents\/api\/v1\/runs\/run_/);
    const refused = await fetch(`${server.url}/agents/api/v1/runs/none`);
    expect(await refused.json()).toMatchObject({ status: 401, instance: '/agents/api/v1/runs/none' });
  });

  test('has the roles and the limits of the server', async () => {
    const vera = createClient({ url: `${server.url}/agents`, token: TOKENS.vera.token });
    await expect(vera.startRun({ agent: 'echo', input: 'go' })).rejects.toMatchObject({ code: 'forbidden' });
    const none = createClient({ url: `${server.url}/agents`, token: 'none' });
    await expect(none.listRuns()).rejects.toMatchObject({ code: 'unauthenticated' });
    const large = otto.startRun({ agent: 'echo', input: 'x'.repeat(3000) });
    await expect(large).rejects.toMatchObject({ code: 'body_too_large' });
  });

  test('ends what waits, and refuses a token that is gone', async () => {
    const { id } = await otto.startRun({ agent: 'slow', input: 'go' });
    const waiting = otto.getRun(id, { wait: 60 });
    router.setTokens([TOKENS.anna]);
    await expect(waiting).rejects.toMatchObject({ code: 'unauthenticated' });
    await expect(otto.listRuns()).rejects.toMatchObject({ code: 'unauthenticated' });
    router.setTokens(Object.values(TOKENS));
    await otto.cancelRun(id);
  });

  test('says what is wrong behind a parser of bodies, and without tokens', async () => {
    const headers = { Authorization: `Bearer ${TOKENS.otto.token}`, 'Content-Type': 'application/json' };
    await fetch(`${server.url}/too-late/api/v1/runs`, { method: 'POST', headers, body: '{"agent":"echo"}' });
    expect(failures.map(({ code, hint }) => [code, hint])).toEqual([
      ['config_invalid', expect.stringContaining('before express.json()')],
    ]);
    expect(() => createRouter(door.engine, { tokens: [] })).toThrow('no tokens');
    const { otto } = TOKENS;
    const wrong: readonly object[] = [
      ...[{ token: '' }, { token: 'short' }, { role: 'king' }, { actor: '' }].map((one) => ({
        tokens: [{ ...otto, ...one }],
      })),
      ...[{}, { tokens: 'x' }, { tokens: [null] }, { tokens: [otto, otto] }],
      ...[
        { host: '' },
        { host: 'http://x' },
        { host: 'localhost:80' },
        { maxBodyBytes: -1 },
        { bodyMs: Number.NaN },
        { log: 5 },
        { port: 1 },
      ].map((one) => ({
        ...{ tokens: [otto], ...one },
      })),
    ];
    for (const options of wrong)
      expect(() => createRouter(door.engine, options as never), JSON.stringify(options)).toThrow(
        expect.objectContaining({ code: 'config_invalid' }),
      );
    expect(() => router.setTokens([{ ...otto, token: '' }])).toThrow(
      expect.objectContaining({ code: 'config_invalid' }),
    );
  });
});
