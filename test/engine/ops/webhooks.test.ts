import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from '@openai/agents';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { defineAgent } from '../../../src/index.js';
import { literalSecret } from '../../../src/models/secrets/secret.js';
import { dueWebhooks, releaseWebhook, takeWebhook, webhookTold } from '../../../src/storage/ops/webhooks.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, engineFor, runToRest } from '../../harness/engine.js';
import { freePort } from '../../harness/free-port.js';
import { say, scripted } from '../../harness/script.js';

/** Webhooks of an engine: what a server is sent, what a failure and a restart do to it. */

interface Request {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const BYTES = Buffer.from('thirty-two bytes for a test key.');
const WAIT = { timeout: 20_000, interval: 100 };
/** Each look at a row stops the engine: an embedded database has one process at a time. */
const SLOWLY = { timeout: 40_000, interval: 2000 };

describeBothDatabasesSlowly('webhooks', (kind) => {
  let server: Server;
  let requests: Request[] = [];
  let statuses: number[] = [];
  let closed = 0;
  beforeAll(async () => {
    server = createServer(async (request, response) => {
      let body = '';
      for await (const piece of request) body += String(piece);
      requests.push({ headers: request.headers, body });
      const status = statuses.shift() ?? 204;
      response.writeHead(status, status === 307 ? { location: '/elsewhere' } : {}).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closed = await freePort();
  });
  afterAll(() => server.close());
  beforeEach(() => {
    requests = [];
    statuses = [];
  });
  const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?secretive=path`;
  const webhooks = [
    {
      name: 'ends',
      // The port is known when the first event is sent.
      url: { place: 'the test', read: async () => address() },
      kinds: ['run.ended' as const],
      signingKey: literalSecret(`whsec_${BYTES.toString('base64')}`),
      bearer: literalSecret('a-token-of-the-test'),
    },
    {
      name: 'nowhere',
      url: { place: 'the test', read: async () => `http://127.0.0.1:${closed}/` },
      kinds: ['run.ended' as const],
    },
    { name: 'of-others', tenant: 'elsewhere', url: 'http://127.0.0.1/', kinds: ['run.ended' as const] },
  ];
  const agents = [defineAgent({ agent: new Agent({ name: 'quick', model: scripted([[say('done')]]) }) })];
  const trimmed: unknown[] = [];
  const keep = (fields: { readonly event: string; readonly name?: unknown }) => {
    if (fields.event === 'webhook_events_trimmed') trimmed.push(fields.name);
  };
  const log = { debug: keep, info: keep, warn: keep, error: keep };
  const t = engineFor(kind, { agents, webhooks, log });
  const row = (name = 'ends') => t.between(async (knex) => await knex('holdfast.webhooks').where({ name }).first());
  const told = () => requests.map(({ body }) => JSON.parse(body).data.runId);
  /** The first look of a worker makes the row: what came before it is not sent. */
  const begun = () => expect.poll(() => row(), SLOWLY).toBeDefined();
  const seqOf = async (runId: string) => {
    const { items } = await t.engine.listSystemEvents({ after: 0, limit: 1000, kind: 'run.ended', runId }, ADMIN);
    return String(items[0]?.seq);
  };

  it('are sent each event once, in their order, signed', async () => {
    await begun();
    const ids = [await runToRest(t.engine, 'quick'), await runToRest(t.engine, 'quick')].map(({ id }) => id);
    await expect.poll(told, WAIT).toEqual(ids);
    const [first] = requests;
    const body = JSON.parse(first?.body ?? '');
    const { items } = await t.engine.listSystemEvents({ after: 0, limit: 1000, kind: 'run.ended' }, ADMIN);
    expect(body).toEqual({
      type: 'run.ended',
      timestamp: body.data.at,
      data: items.find(({ runId }) => runId === ids[0]),
    });
    const { 'webhook-id': id, 'webhook-timestamp': at, ...headers } = first?.headers ?? {};
    expect(id).toBe(`evt_${body.data.seq}`);
    const signature = createHmac('sha256', BYTES).update(`${id}.${at}.${first?.body}`).digest('base64');
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-signature': `v1,${signature}`,
      authorization: 'Bearer a-token-of-the-test',
    });
    expect(Math.abs(Number(at) - Date.now() / 1000)).toBeLessThan(60);
    expect(await row('of-others')).toMatchObject({ tries: 0, failing_since: null });
  });

  it('are sent a failed event again, before those after it, also after a restart', async () => {
    const always = (status: number) => Array.from({ length: 1000 }, () => status);
    const dueNow = () =>
      t.between(async (knex) => {
        await knex('holdfast.webhooks').where({ name: 'ends' }).update({ due_at: knex.fn.now() });
      });
    statuses = always(500);
    const ids = [await runToRest(t.engine, 'quick'), await runToRest(t.engine, 'quick')].map(({ id }) => id);
    await expect.poll(() => requests.length, WAIT).toBeGreaterThan(0);
    await expect.poll(() => row(), SLOWLY).toMatchObject({ problem: 'the server answered 500', holder: null });
    expect((await row())?.tries).toBeGreaterThan(0);
    statuses = always(307);
    await dueNow();
    await expect.poll(async () => (await row())?.problem, SLOWLY).toBe('the server answered 307');
    const failed = requests.length;
    statuses = [];
    await dueNow();
    await expect.poll(() => [...new Set(told())], WAIT).toEqual(ids);
    expect(new Set(told().slice(0, failed))).toEqual(new Set([ids[0]]));
    // Trying again sends the same.
    expect(new Set(requests.map(({ headers }) => headers['webhook-id'])).size).toBe(2);
    expect(new Set(requests.map(({ body }) => body)).size).toBe(2);
    await expect.poll(() => row(), SLOWLY).toMatchObject({ tries: 0, problem: null, failing_since: null });
  });

  it('are listed with what they were told, and why one fails, to their tenant', async () => {
    const listed = async () => (await t.engine.listWebhooks(ADMIN)).items;
    const states = async () => (await listed()).map(({ state }) => state);
    await expect.poll(states, WAIT).toEqual(['told', 'failing', 'told']);
    const items = await listed();
    const [ends, nowhere, others] = items;
    expect(ends).toMatchObject({ name: 'ends', state: 'told', givenUp: 0, tries: 0, problem: null, nextTryAt: null });
    expect(ends?.delivered).toBeGreaterThanOrEqual(4);
    expect(Date.parse(ends?.deliveredAt ?? '')).toBeGreaterThan(Date.now() - 600_000);
    expect(nowhere).toMatchObject({
      ...{ name: 'nowhere', state: 'failing', delivered: 0, deliveredAt: null },
      problem: 'the server cannot be reached: ECONNREFUSED',
    });
    expect(nowhere?.tries).toBeGreaterThan(0);
    expect(nowhere?.behind).toBeGreaterThan(0);
    expect(others).toMatchObject({ name: 'of-others', tenant: 'elsewhere', state: 'told' });
    expect(JSON.stringify(items)).not.toMatch(/secretive|a-token-of-the-test|whsec_|127\.0\.0\.1/);
    const elsewhere = await t.engine.listWebhooks({ actor: 'eve', role: 'viewer', tenant: 'elsewhere' });
    expect(elsewhere.items.map(({ name }) => name)).toEqual(['of-others']);
  });

  it('belong to one worker at a time, and to another one when its time is over', async () => {
    await t.between(async (knex) => {
      const name = 'another';
      await knex('holdfast.webhooks').insert({ tenant: 'default', name, position: 0 });
      expect([...(await dueWebhooks(knex, [{ tenant: 'default', name }]))]).toEqual([name]);
      // The last event was given up: the one that fails is looked at again, whether or not another event comes.
      const head = knex('holdfast.system_event_head').select('position');
      await knex('holdfast.webhooks').where({ name }).update({ position: head, problem: 'away' });
      expect([...(await dueWebhooks(knex, [{ tenant: 'default', name }]))]).toEqual([name]);
      await knex('holdfast.webhooks').where({ name }).update({ problem: null });
      expect([...(await dueWebhooks(knex, [{ tenant: 'default', name }]))]).toEqual([]);
      await knex('holdfast.webhooks').where({ name }).update({ position: 0 });
      expect(await takeWebhook(knex, name, 'first')).toEqual({ position: 0, tries: 0 });
      expect([...(await dueWebhooks(knex, [{ tenant: 'default', name }]))]).toEqual([]);
      expect(await takeWebhook(knex, name, 'second')).toBeNull();
      expect(await webhookTold(knex, name, 'first', { position: 1, delivered: true })).toBe(true);
      expect(await webhookTold(knex, name, 'first', { position: 0, delivered: false })).toBe(true);
      await knex('holdfast.webhooks').where({ name }).update({ held_until: knex.fn.now() });
      expect(await takeWebhook(knex, name, 'second')).toEqual({ position: 1, tries: 0 });
      expect(await webhookTold(knex, name, 'first', { position: 5, delivered: true })).toBe(false);
      await releaseWebhook(knex, name, 'first');
      expect(await webhookTold(knex, name, 'second', { position: 2, delivered: true })).toBe(true);
    });
  });

  it('warn in the health of the server when they fail for a minute, and give up what is a day old', async () => {
    statuses = Array.from({ length: 1000 }, () => 503);
    const old = await runToRest(t.engine, 'quick');
    await expect.poll(() => requests.length, WAIT).toBeGreaterThan(0);
    await t.between(async (knex) => {
      const failing = knex.raw(`now() - interval '2 minutes'`);
      await knex('holdfast.webhooks').where({ name: 'ends' }).update({ failing_since: failing, due_at: knex.fn.now() });
      await knex('holdfast.system_events')
        .where({ run_id: old.id, kind: 'run.ended' })
        .update({ at: knex.raw(`now() - interval '25 hours'`) });
    });
    const detail = /^webhooks that are not told of events: [12] of 3; see webhook_failed in the log$/;
    const warning = { status: 'warn', detail: expect.stringMatching(detail) };
    expect((await t.engine.health(ADMIN)).checks['webhooks']).toEqual(warning);
    await expect.poll(async () => (await row())?.position, SLOWLY).toBe(await seqOf(old.id));
    const tried = requests.length;
    statuses = [];
    const next = await runToRest(t.engine, 'quick');
    await expect.poll(told, SLOWLY).toContain(next.id);
    expect(told().slice(tried)).not.toContain(old.id);
    const refused = { problem: 'the server cannot be reached: ECONNREFUSED' };
    await expect.poll(() => row('nowhere'), SLOWLY).toMatchObject(refused);
  });

  it('give up all events that are a day old together, and say once that retention removed some', async () => {
    statuses = Array.from({ length: 1000 }, () => 503);
    const ends = async () => (await t.engine.listWebhooks(ADMIN)).items.find(({ name }) => name === 'ends');
    const before = (await ends())?.givenUp ?? 0;
    await t.between(async (knex) => {
      await knex.raw(
        `insert into holdfast.system_events (tenant, kind, data, at)
         select 'default', 'run.ended', '{}', now() - interval '25 hours' from generate_series(1, 250)`,
      );
      await knex('holdfast.system_event_head').update({ trimmed: 1 });
      await knex('holdfast.webhooks')
        .where({ name: 'nowhere' })
        .update({ position: 0, tries: 0, due_at: knex.fn.now() });
    });
    const tried = requests.length;
    await expect.poll(async () => (await ends())?.givenUp, SLOWLY).toBe(before + 250);
    expect(requests.length - tried).toBe(1);
    const tries = async () => (await t.engine.listWebhooks(ADMIN)).items.find(({ name }) => name === 'nowhere')?.tries;
    await expect.poll(tries, SLOWLY).toBeGreaterThan(1);
    expect(trimmed).toEqual(['nowhere']);
  });
});
