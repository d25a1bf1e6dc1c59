import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { runView } from '../../src/core/runs/run.js';
import { asHoldfastError, toProblem } from '../../src/http/problem.js';
import { createHttpServer } from '../../src/http/server.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { bearer, collectingLog, type Door, expectProblem, openDoor, options, TOKENS } from './door.js';

let door: Door;
const { log } = collectingLog();

beforeAll(async () => {
  door = await openDoor('pglite');
});
afterAll(() => door.close());

describe('where it listens', () => {
  test('port 0 takes a free one and says which', () => {
    expect(door.http.port).toBeGreaterThan(0);
    expect(door.http.url).toBe(`http://127.0.0.1:${door.http.port}`);
  });

  test('a port in use is named, and so is the way out', async () => {
    const { port } = door.http;
    await expect(createHttpServer(door.engine, options(log, { port }))).rejects.toMatchObject({
      code: 'port_in_use',
      message: `Port ${port} of 127.0.0.1 is in use.`,
      hint: expect.stringContaining('HOLDFAST_PORT'),
    });
    // A worker without an API listens for Prometheus alone.
    await expect(createHttpServer(door.engine, options(log, { port, serves: 'metrics' }))).rejects.toMatchObject({
      code: 'port_in_use',
      hint: expect.stringContaining('HOLDFAST_METRICS_PORT'),
    });
  });

  test('no token is made for a port in use, and a request that comes before the token is there waits for it', async () => {
    let made = 0;
    const first = { actor: 'first', role: 'admin', tenant: 'default', token: 'a-token-that-is-made-last' } as const;
    const tokens = async () => {
      made++;
      return [first];
    };
    const { port } = door.http;
    await expect(createHttpServer(door.engine, options(log, { port, tokens }))).rejects.toMatchObject({
      code: 'port_in_use',
    });
    expect(made).toBe(0);
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port: at } = free.address() as AddressInfo;
    free.close();
    await once(free, 'close');
    let answered: Promise<Response> | undefined;
    const late = async () => {
      answered = fetch(`http://127.0.0.1:${at}/api/v1/runs`, { headers: { authorization: `Bearer ${first.token}` } });
      await new Promise((resolve) => setTimeout(resolve, 200));
      return [first];
    };
    const server = await createHttpServer(door.engine, options(log, { port: at, tokens: late }));
    expect((await answered)?.status).toBe(200);
    await server.close();
  });

  test.each(['0.0.0.0', '::', '192.0.2.1', 'holdfast.example'])(
    '%s is refused without configured tokens',
    async (host) => {
      await expect(
        createHttpServer(door.engine, options(log, { host, tokensConfigured: false })),
      ).rejects.toMatchObject({
        code: 'unsafe_bind',
        message: expect.stringContaining(host),
      });
    },
  );

  test('an address that this machine does not have is named', async () => {
    await expect(createHttpServer(door.engine, options(log, { host: '192.0.2.1' }))).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('HOLDFAST_HOST 192.0.2.1'),
    });
  });

  test('with configured tokens it serves others, under any name', async () => {
    const open = await createHttpServer(door.engine, options(log, { host: '0.0.0.0' }));
    const own = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .find(({ family }) => family === 'IPv4');
    const url = `http://${own?.address ?? '127.0.0.1'}:${open.port}`;
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    expect((await fetch(`${url}/api/v1/runs`)).status).toBe(401);
    await open.close(0);
  });

  test('a machine with IPv6 has brackets in its address', async (context) => {
    const six = await createHttpServer(door.engine, options(log, { host: '::1' })).catch((error: unknown) => error);
    if (six instanceof HoldfastError) return context.skip('this machine has no IPv6 loopback');
    const { url, port, close } = six as Awaited<ReturnType<typeof createHttpServer>>;
    expect(url).toBe(`http://[::1]:${port}`);
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    await close(0);
  });
});

test('every answer says that it is not for caches, frames, scripts or sniffing', async () => {
  for (const path of ['/livez', '/api/v1/runs', '/nowhere']) {
    const { headers } = await door.ask('vera', 'GET', path);
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-request-id': expect.stringMatching(/^[\da-f-]{36}$/),
    });
    expect(headers.has('x-powered-by')).toBe(false);
    expect(headers.has('access-control-allow-origin')).toBe(false);
    expect(headers.has('etag')).toBe(false);
  }
});

test('HEAD answers as GET does, without a body', async () => {
  const response = await fetch(`${door.http.url}/api/v1/runs`, { method: 'HEAD', headers: bearer('vera') });
  expect({ status: response.status, text: await response.text() }).toEqual({ status: 200, text: '' });
});

test('what goes wrong inside stays inside', () => {
  const thrown = new Error('password=hunter2 at /home/app/src/storage.ts:1');
  for (const inner of [thrown, 'text', undefined, null, new HoldfastError('internal', thrown.message)]) {
    const body = JSON.stringify(toProblem(asHoldfastError(inner), '/x', 'id'));
    expect(JSON.parse(body)).toMatchObject({ status: 500, code: 'internal', requestId: 'id' });
    expect(body).not.toMatch(/hunter2|storage/);
  }
});

test('a database that is away or full is named, and no more is said of it', () => {
  const thrown = { '57P01': 'database_unreachable', ECONNREFUSED: 'database_unreachable', '53100': 'database_full' };
  for (const [code, named] of Object.entries(thrown)) {
    const error = Object.assign(new Error('insert into "secrets" at 10.0.0.7'), { code });
    const body = JSON.stringify(toProblem(asHoldfastError(error), '/x', 'id'));
    expect(JSON.parse(body)).toMatchObject({ status: 503, code: named });
    expect(body).not.toMatch(/secrets|10\.0/);
  }
});

test('a client that sends its body too slowly is not waited for without end', async () => {
  const socket = createConnection(door.http.port, '127.0.0.1');
  const head = `POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKENS.otto.token}\r\n`;
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"agent"`);
  await new Promise((resolve) => setTimeout(resolve, 100));
  socket.destroy();
  expect((await door.ask('vera', 'GET', '/livez')).status).toBe(200);
});

test('the log of requests says what was asked, and never a token or a body', async () => {
  const from = door.logged.length;
  const { id } = runView.parse(
    (await door.ask('otto', 'POST', '/api/v1/runs', { agent: 'echo', input: 'my secret' })).json,
  );
  const asked = await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=20`);
  await expect
    .poll(() => door.logged.slice(from).map(({ fields }) => fields))
    .toContainEqual({
      component: 'http',
      event: 'request',
      requestId: asked.headers.get('x-request-id'),
      method: 'GET',
      path: `/api/v1/runs/${id}`,
      status: 200,
      durationMs: expect.any(Number),
    });
  const text = JSON.stringify(door.logged);
  for (const { token } of Object.values(TOKENS)) expect(text).not.toContain(token);
  expect(text).not.toContain('my secret');
});

describe('whether it lives and is ready', () => {
  const status = async (path: string): Promise<number> => (await door.ask(null, 'GET', path)).status;

  test('is told to anybody, and nothing else', async () => {
    expect((await door.ask(null, 'GET', '/livez')).json).toEqual({ status: 'pass' });
    expect((await door.ask(null, 'GET', '/readyz')).json).toEqual({ status: 'pass' });
  });

  test('an engine that stops is not ready, is alive, and says when to come again', async () => {
    const { json } = await door.ask('otto', 'POST', '/api/v1/runs', { agent: 'payer', input: 'go' });
    const run = runView.parse(json);
    const { json: paused } = await door.ask('vera', 'GET', `/api/v1/runs/${run.id}?wait=20`);
    const [interruption = ''] = runView.parse(paused).interruptions;
    const decide = `/api/v1/interruptions/${interruption}`;
    await door.ask('vera', 'POST', `${decide}/approve`);
    await door.ask('anna', 'POST', `${decide}/approve`, { digest: 5 });
    await door.ask('anna', 'POST', `${decide}/approve`, { message: 'fine' });
    await door.ask('adam', 'POST', `${decide}/reject`);
    await door.ask('anna', 'POST', `/api/v1/runs/run_x/cancel`);
    await door.ask('anna', 'POST', `${decide.replace(interruption, 'a%00b')}/approve`);
    await door.ask('anna', 'POST', `${decide.replace(interruption, 'x'.repeat(5000))}/approve`);
    door.http.drain();
    expect(await status('/readyz')).toBe(503);
    expect((await door.ask('vera', 'GET', '/api/v1/agents')).status).toBe(200);
    await door.engine.stop({ graceMs: 0 });
    expect(await status('/readyz')).toBe(503);
    expect(await status('/livez')).toBe(200);
    const answer = await door.ask('vera', 'GET', '/api/v1/runs');
    expectProblem(answer, 'engine_not_running');
    expect(answer.headers.get('retry-after')).toBe('5');

    const database = await openDatabase(door.database.options);
    const rows: object[] = await database.knex
      .withSchema('holdfast')
      .from('access_log')
      .orderBy('id')
      .select('actor', 'role', 'tenant', 'method', 'route', 'target', 'status');
    await database.close();
    const row = (actor: string, role: string, verb: string, target: string, code: number) => ({
      ...{ actor, role, tenant: 'default', method: 'POST', route: `/api/v1/${verb}`, target, status: code },
    });
    expect(rows).toEqual([
      row('vera', 'viewer', 'interruptions/{id}/approve', interruption, 403),
      row('anna', 'approver', 'interruptions/{id}/approve', interruption, 400),
      row('anna', 'approver', 'interruptions/{id}/approve', interruption, 200),
      row('adam', 'admin', 'interruptions/{id}/reject', interruption, 409),
      row('anna', 'approver', 'runs/{id}/cancel', 'run_x', 404),
      row('anna', 'approver', 'interruptions/{id}/approve', 'a\ufffdb', 400),
      row('anna', 'approver', 'interruptions/{id}/approve', 'x'.repeat(200), 400),
    ]);
  });
});
