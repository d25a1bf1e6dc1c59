import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Token } from '../../src/core/access-token.js';
import { workerView } from '../../src/core/queue/worker.js';
import { runView } from '../../src/core/runs/run.js';
import { GUARDED_ROUTES } from '../../src/http/routes.js';
import { createHttpServer, type HttpServer } from '../../src/http/server.js';
import { describeEachDatabase } from '../harness/database.js';
import { AGENTS, type Answer, collectingLog, type Door, expectProblem, openDoor, options } from './door.js';
import { type Guarded, PLANNED, pathOf, type Sample, type Samples, samplesOf } from './samples.js';

const tokenOf = (actor: string, more: Partial<Token>): Token => ({
  ...{ token: `token-of-${actor}-0123456789`, actor, role: 'viewer', tenant: 'operations' },
  ...more,
});
/** Two that have a part in the installation and none in the tenants whose rows there are. */
const IRIS = tokenOf('iris', { installation: 'viewer' });
const OLAF = tokenOf('olaf', { installation: 'operator' });
/** The admins of both tenants, where tokens say who operates. */
const ADMINS = [
  tokenOf('ada', { role: 'admin', tenant: 'default' }),
  tokenOf('zeno', { role: 'admin', tenant: 'acme' }),
];

const scopeOf = (operation: Guarded) => {
  const access = GUARDED_ROUTES.find(({ operationId }) => operationId === operation)?.access;
  return typeof access === 'object' && 'tenant' in access ? 'tenant' : access;
};

describeEachDatabase('two tenants', (kind) => {
  let door: Door;
  let stated: HttpServer;
  let samples: Samples['samples'];
  let secrets: Samples['secrets'];
  let worker: string;

  beforeAll(async () => {
    door = await openDoor(kind, [...AGENTS, PLANNED]);
    stated = await createHttpServer(door.engine, options(collectingLog().log, { tokens: [IRIS, OLAF, ...ADMINS] }));
    ({ samples, secrets, worker } = await samplesOf(door));
  });
  afterAll(async () => {
    await stated.close(0);
    await door.close();
    // Rows of the access log too are written for every token.
    expect(door.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });

  const walked = GUARDED_ROUTES.map((route) => ({ ...route, operation: route.operationId as Guarded }));
  const bodyOf = (method: string, { body }: Sample) => (method === 'POST' ? body : undefined);
  const asStated = async ({ token }: Token, route: (typeof walked)[number], sample: Sample) => {
    const body = bodyOf(route.method, sample);
    const type: Record<string, string> = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const headers = { ...type, Authorization: `Bearer ${token}`, ...sample.headers };
    const text = typeof body === 'string' ? body : JSON.stringify(body ?? {});
    const init = { method: route.method, headers, ...(body === undefined ? {} : { body: text }) };
    return (await fetch(`${stated.url}${pathOf(route.path, sample)}`, init)).status;
  };
  const secretsIn = ({ text }: Answer): string[] => secrets.filter((id) => text.includes(id));
  const ofDefault = async (): Promise<unknown> => [
    (await door.ask('vera', 'GET', '/api/v1/runs?limit=200')).json,
    (await door.ask('vera', 'GET', '/api/v1/tasks')).json,
    (await door.ask('vera', 'GET', '/api/v1/interruptions')).json,
    (await door.ask('vera', 'GET', '/api/v1/sessions')).json,
    (await door.ask('vera', 'GET', '/api/v1/trajectories/exports')).json,
  ];

  test('are asked about on every route, and each route has its scope', () => {
    expect(Object.keys(samples).toSorted()).toEqual(walked.map(({ operation }) => operation).toSorted());
    for (const { operation } of walked) expect(scopeOf(operation), operation).not.toBe('open');
  });

  test('know nothing of each other: an admin of one reads and changes nothing of the other', async () => {
    const before = await ofDefault();
    for (const { method, path, operation } of walked.filter((one) => scopeOf(one.operation) === 'tenant')) {
      const sample = samples[operation];
      const answer = await door.ask('zoe', method, pathOf(path, sample), bodyOf(method, sample), sample.headers);
      if (sample.refused !== undefined) {
        expect(expectProblem(answer, sample.refused).code).toBe(sample.refused);
      } else if (sample.ids === undefined || sample.named === true) {
        expect(answer.status, `${operation}: ${answer.text}`).toBeLessThan(300);
        expect(secretsIn(answer), operation).toEqual([]);
      } else {
        expect(answer.status, `${operation}: ${answer.text}`).toBe(404);
        expect(expectProblem(answer, String(Reflect.get(Object(answer.json), 'code'))).code).toMatch(/_unknown$/);
      }
    }
    expect(await ofDefault()).toEqual(before);
  });

  test('are told nothing by ids of the other one in a query, beside an id of their own, in a body, or by a cursor', async () => {
    const own = runView.parse((await door.ask('zoe', 'POST', '/api/v1/runs', { agent: 'payer', input: 'mine' })).json);
    await door.ask('zoe', 'GET', `/api/v1/runs/${own.id}?wait=20`);
    const lists = walked.filter(({ method, path }) => method === 'GET' && !path.includes('{'));
    const asked: string[] = [];
    for (const { path, query, operation } of lists.filter((one) => scopeOf(one.operation) === 'tenant')) {
      for (const name of Object.keys((query as { shape?: object }).shape ?? {}))
        for (const id of secrets.filter((_, index) => (index + asked.length) % 3 === 0))
          asked.push(`${path}?${name}=${encodeURIComponent(id)}`);
      const page = await door.ask('vera', 'GET', `${path}?limit=1`);
      const cursor = page.status === 200 ? Object(page.json).nextCursor : null;
      if (cursor !== null && cursor !== undefined) asked.push(`${path}?cursor=${encodeURIComponent(cursor)}`);
      expect(page.status, operation).toBeLessThan(500);
    }
    expect(asked.length).toBeGreaterThan(60);
    for (const path of asked) {
      const answer = await door.ask('zoe', 'GET', path);
      expect(answer.status, path).toBeLessThan(500);
      // A refusal may say again what was asked.
      const told = secretsIn(answer).filter((id) => !path.includes(id));
      expect(answer.status < 300 ? secretsIn(answer) : told, path).toEqual([]);
    }
    const [over = '', other = '', , , standingOf = '', interruption = '', standing = ''] = secrets;
    const before = await ofDefault();
    const refused: readonly (readonly [method: string, path: string, body?: unknown])[] = [
      ['GET', `runs/${own.id}/diff/${over}`],
      ['GET', `runs/${over}/diff/${own.id}`],
      ['DELETE', `runs/${own.id}/standing-decisions/${standing}`],
      ['POST', `runs/${own.id}/fork`, { at: `${over}:2` }],
      ['POST', `runs/${over}/fork`, { at: `${own.id}:2` }],
      ['POST', `interruptions/${interruption}/approve`, {}],
      ['GET', `runs/${encodeURIComponent(`${own.id}/../${other}`)}`],
      ['GET', `runs/${standingOf}%00`],
      ['GET', `runs/${standingOf.toUpperCase()}`],
      ['POST', 'tasks', { task: { name: 'of-default', version: '1.0.0' }, agent: 'rare' }],
    ];
    for (const [method, path, body] of refused) {
      const answer = await door.ask('zoe', method, `/api/v1/${path}`, body);
      expect(answer.status, `${path}: ${answer.text}`).toBeGreaterThanOrEqual(400);
      expect(answer.status, `${path}: ${answer.text}`).toBeLessThan(500);
    }
    const tenant = { 'X-Tenant': 'default', Tenant: 'default', 'X-Holdfast-Tenant': 'default' };
    expect(secretsIn(await door.ask('zoe', 'GET', '/api/v1/runs?limit=200', undefined, tenant))).toEqual([]);
    const events = await door.ask('zoe', 'GET', '/api/v1/events?limit=200', undefined, { 'Last-Event-ID': '0' });
    expect(secretsIn(events)).toEqual([]);
    // A name that both have is of each.
    const talk = await door.ask('zoe', 'POST', '/api/v1/runs', { agent: 'echo', input: 'mine', sessionId: 'talk' });
    expect(talk.status, talk.text).toBeLessThan(300);
    expect(await ofDefault()).toEqual(before);
  });

  test('share what proves the log and describes the server, which names nothing of either', async () => {
    for (const { method, path, operation } of walked.filter((one) => scopeOf(one.operation) === 'shared')) {
      const answer = await door.ask('zoe', method, pathOf(path, samples[operation]));
      expect(answer.status, `${operation}: ${answer.text}`).toBe(200);
      expect(secretsIn(answer), operation).toEqual([]);
    }
  });

  test('have no part in the installation, whatever their role; its own roles have', async () => {
    const ofAll = walked.filter((one) => typeof scopeOf(one.operation) === 'object');
    for (const route of ofAll.filter(({ operation }) => operation !== 'stopWorker')) {
      const sample = samples[route.operation];
      const answer = await door.ask('zoe', route.method, pathOf(route.path, sample), bodyOf(route.method, sample));
      expect(expectProblem(answer, 'forbidden').detail, route.operation).toContain('in the installation');
      for (const admin of ADMINS) expect(await asStated(admin, route, sample), route.operation).toBe(403);
      const operates = (scopeOf(route.operation) as { readonly installation: string }).installation === 'operator';
      expect(await asStated(IRIS, route, sample), route.operation).toBe(operates ? 403 : 200);
      expect(await asStated(OLAF, route, sample), route.operation).toBeLessThan(300);
    }
    const stop = `/api/v1/workers/${worker}/stop`;
    expectProblem(await door.ask('zoe', 'POST', stop, { mode: 'drain' }), 'forbidden');
    const seen = workerView.parse((await door.ask('vera', 'GET', `/api/v1/workers/${worker}`)).json);
    expect(seen.status).toBe('working');
  });

  test('who operates the installation has no part in a tenant for that', async () => {
    for (const route of walked.filter((one) => scopeOf(one.operation) === 'tenant')) {
      const sample = samples[route.operation];
      if (sample.ids === undefined || sample.named === true) continue;
      expect([403, 404], route.operation).toContain(await asStated(OLAF, route, sample));
    }
  });

  describe('in a list of tokens that says nothing of the installation', () => {
    test('admins of the tenant default operate it, and its other tokens read', async () => {
      expect((await door.ask('vera', 'GET', '/api/v1/metrics')).status).toBe(200);
      expect((await door.ask('adam', 'POST', '/api/v1/log/checkpoint', {})).status).toBe(200);
      for (const actor of ['vera', 'otto', 'anna'] as const)
        expectProblem(await door.ask(actor, 'POST', '/api/v1/log/checkpoint', {}), 'forbidden');
    });
  });

  test('events of the installation are read by those who have a part in it', async () => {
    const kindsOf = async (actor: 'vera' | 'zoe') => (await door.ask(actor, 'GET', '/api/v1/events?limit=200')).text;
    expect(await kindsOf('vera')).toContain('worker.registered');
    expect(await kindsOf('zoe')).not.toContain('worker.registered');
  });
});
