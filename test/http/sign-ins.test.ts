import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHttpServer, type HttpServer } from '../../src/http/server.js';
import { describeEachDatabase } from '../harness/database.js';
import { collectingLog, type Door, openDoor, options, TOKENS } from './door.js';

interface Got {
  readonly status: number;
  readonly code: string | undefined;
  readonly cookie: string;
  readonly json: { readonly [name: string]: unknown };
}

type Headers = Readonly<Record<string, string>>;

/** What the console of a browser sends. */
const CONSOLE = { 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Dest': 'empty', 'Holdfast-Console': '1' };

/** A request as it is written on the wire, with any header: `fetch` keeps some for itself. */
function send(url: string, method: string, path: string, headers: Headers, body?: object): Promise<Got> {
  const type: Headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { method, headers: { ...type, ...headers }, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => {
        const json = text.startsWith('{') ? JSON.parse(text) : {};
        const [cookie = ''] = response.headers['set-cookie'] ?? [];
        resolve({ status: response.statusCode ?? 0, code: json.code, cookie, json });
      });
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const pairIn = (cookie: string): string => cookie.split(';')[0] ?? '';

describeEachDatabase('sign-ins', (kind) => {
  let door: Door;
  let behindProxy: HttpServer;
  beforeAll(async () => {
    door = await openDoor(kind);
    const { log } = collectingLog();
    behindProxy = await createHttpServer(
      door.engine,
      options(log, { host: '0.0.0.0', publicUrl: 'https://runs.example.org' }),
    );
  });
  afterAll(async () => {
    await behindProxy.close(0);
    await door.close();
  });

  const token = TOKENS.anna.token;
  const begin = (headers: Headers = CONSOLE, url = door.http.url): Promise<Got> =>
    send(url, 'POST', '/api/v1/sign-ins', headers, { token });
  const ask = (cookie: string, method: string, path: string, headers: Headers = CONSOLE, body?: object): Promise<Got> =>
    send(door.http.url, method, path, { ...headers, Cookie: pairIn(cookie) }, body);

  test('a token becomes a cookie that scripts cannot read, and the cookie asks as the token does', async () => {
    const { status, cookie, json } = await begin();
    expect(status).toBe(200);
    expect(cookie).toMatch(/^holdfast-\d+=\S+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/);
    expect(cookie).not.toContain(token);
    expect(json).toMatchObject({ actor: 'anna', role: 'approver', tenant: 'default' });
    expect(json['may']).toContain('approve');
    expect(json['may']).not.toContain('repairRun');
    expect((await ask(cookie, 'GET', '/api/v1/runs')).status).toBe(200);
    expect((await ask(cookie, 'DELETE', '/api/v1/sessions/none')).code).toBe('forbidden');
    expect(await ask(cookie, 'GET', '/api/v1/sign-ins/current')).toMatchObject({
      status: 200,
      json: { actor: 'anna' },
    });
  });

  test('a code signs one browser in, once, as the bearer token that asked for it', async () => {
    const codeOf = (headers: Headers) => send(door.http.url, 'POST', '/api/v1/sign-ins/codes', headers, {});
    const use = (code: unknown): Promise<Got> => send(door.http.url, 'POST', '/api/v1/sign-ins', CONSOLE, { code });
    const { status, json } = await codeOf({ Authorization: `Bearer ${token}` });
    expect(status).toBe(200);
    const left = Date.parse(String(json['expiresAt'])) - Date.now();
    expect(left).toBeGreaterThan(30_000);
    expect(left).toBeLessThanOrEqual(60_000);
    const code = String(json['code']);
    const [tokenId, nonce, , signed] = code.split('.');
    for (const wrong of [
      `${code}x`,
      [tokenId, nonce, (Date.now() + 1e6).toString(36), signed].join('.'),
      [tokenId, nonce, (Date.now() - 1).toString(36), signed].join('.'),
      token,
      'a.b.c.d',
    ])
      expect((await use(wrong)).code, wrong).toBe('unauthenticated');
    const signedIn = await use(code);
    expect(signedIn).toMatchObject({ status: 200, json: { actor: 'anna', role: 'approver' } });
    expect((await ask(signedIn.cookie, 'GET', '/api/v1/runs')).status).toBe(200);
    expect((await use(code)).code).toBe('unauthenticated');
    // A cookie is no code, and asks for none.
    const value = pairIn(signedIn.cookie).split('=')[1];
    expect((await use(value)).code).toBe('unauthenticated');
    expect((await codeOf({ ...CONSOLE, Cookie: pairIn(signedIn.cookie) })).code).toBe('unauthenticated');
    const both = await send(door.http.url, 'POST', '/api/v1/sign-ins', CONSOLE, { code, token });
    expect(both.code).toBe('invalid_request');
    expect((await send(door.http.url, 'POST', '/api/v1/sign-ins', CONSOLE, {})).code).toBe('invalid_request');
  });

  test('a wrong token, and a cookie that was changed, are refused', async () => {
    const wrong = await send(door.http.url, 'POST', '/api/v1/sign-ins', CONSOLE, { token: 'no-token-of-this-server' });
    expect(wrong).toMatchObject({ status: 401, code: 'unauthenticated', cookie: '' });
    const { cookie } = await begin();
    const pair = pairIn(cookie);
    const [name = '', value = ''] = pair.split('=');
    const fields = value.split('.');
    const later = [...fields.slice(0, 3), (Date.now() + 1e9).toString(36), fields[4]].join('.');
    for (const changed of [`${pair}x`, `${name}=${later}`, `${name}=`, `${name}=a.b.c`, pair.slice(0, -1)])
      expect((await ask(changed, 'GET', '/api/v1/runs')).code, changed).toBe('unauthenticated');
  });

  test('the cookie of another site does nothing', async () => {
    const { cookie } = await begin();
    const path = '/api/v1/interruptions/int_none/approve';
    const refused: readonly Headers[] = [
      { ...CONSOLE, 'Sec-Fetch-Site': 'cross-site' },
      { ...CONSOLE, 'Sec-Fetch-Site': 'same-site' },
      { 'Holdfast-Console': '1' },
      { 'Holdfast-Console': '1', Origin: 'http://127.0.0.1:1' },
      { 'Sec-Fetch-Site': 'same-origin' },
    ];
    for (const headers of refused)
      expect((await ask(cookie, 'POST', path, headers, {})).code, JSON.stringify(headers)).toBe('cross_site');
    expect((await ask(cookie, 'POST', path, CONSOLE, {})).code).toBe('interruption_unknown');
    const own = { 'Holdfast-Console': '1', Origin: door.http.url };
    expect((await ask(cookie, 'POST', path, own, {})).code).toBe('interruption_unknown');
    for (const dest of ['iframe', 'image', 'script', 'style', 'object'])
      expect((await ask(cookie, 'GET', '/api/v1/runs', { ...CONSOLE, 'Sec-Fetch-Dest': dest })).code).toBe(
        'cross_site',
      );
    const form = { ...CONSOLE, 'Content-Type': 'text/plain' };
    expect((await ask(cookie, 'POST', path, form, {})).code).toBe('unsupported_media_type');
    expect((await begin({ ...CONSOLE, 'Sec-Fetch-Site': 'cross-site' })).code).toBe('cross_site');
  });

  test('on loopback no page of another site asks anything, also with a bearer token', async () => {
    const bearer = { Authorization: `Bearer ${token}` };
    const foreign = { ...bearer, 'Sec-Fetch-Site': 'cross-site' };
    expect((await send(door.http.url, 'GET', '/api/v1/runs', foreign)).code).toBe('cross_site');
    const origin = { ...bearer, Origin: 'https://evil.example' };
    expect((await send(door.http.url, 'GET', '/api/v1/runs', origin)).code).toBe('cross_site');
    expect((await send(door.http.url, 'GET', '/api/v1/runs', bearer)).status).toBe(200);
    const rebound = { ...CONSOLE, Host: 'evil.example' };
    expect(await begin(rebound)).toMatchObject({ status: 421, code: 'host_refused' });
  });

  test('a sign-out ends the cookie, and each copy of it', async () => {
    const { cookie } = await begin();
    const ended = await ask(cookie, 'DELETE', '/api/v1/sign-ins/current');
    expect(ended).toMatchObject({ status: 200 });
    expect(ended.cookie).toContain('Max-Age=0');
    expect((await ask(cookie, 'GET', '/api/v1/runs')).code).toBe('unauthenticated');
  });

  test('a sign-in ends with its token', async () => {
    const { cookie } = await begin();
    const tokens = Object.values(TOKENS);
    door.http.setTokens(tokens.filter(({ actor }) => actor !== 'anna'));
    expect((await ask(cookie, 'GET', '/api/v1/runs')).code).toBe('unauthenticated');
    door.http.setTokens(tokens);
    expect((await ask(cookie, 'GET', '/api/v1/runs')).status).toBe(200);
  });

  test('beyond this machine browsers sign in over TLS alone', async () => {
    const plain = { ...CONSOLE, Host: 'runs.example.org:3000' };
    expect(await begin(plain, behindProxy.url)).toMatchObject({ status: 403, code: 'tls_required' });
    const proxied = { ...CONSOLE, Host: 'runs.example.org' };
    const { cookie } = await begin(proxied, behindProxy.url);
    expect(cookie).toMatch(/^__Host-holdfast=\S+; Path=\/; Secure; HttpOnly; SameSite=Strict/);
    const asked = { ...proxied, Cookie: pairIn(cookie) };
    expect((await send(behindProxy.url, 'GET', '/api/v1/runs', asked)).status).toBe(200);
    const elsewhere = { ...asked, Host: 'other.example.org' };
    expect((await send(behindProxy.url, 'GET', '/api/v1/runs', elsewhere)).code).toBe('unauthenticated');
  });

  test('one address tries ten wrong tokens a minute', async () => {
    const { log } = collectingLog();
    const server = await createHttpServer(door.engine, options(log));
    const tried = async (): Promise<string | undefined> =>
      (await send(server.url, 'POST', '/api/v1/sign-ins', CONSOLE, { token: 'no-token-of-this-server' })).code;
    for (let at = 0; at < 10; at++) expect(await tried()).toBe('unauthenticated');
    expect(await tried()).toBe('rate_limited');
    expect((await begin(CONSOLE, server.url)).code).toBe('rate_limited');
    await server.close(0);
  });

  test('without the console there are no pages and no sign-ins', async () => {
    const { log } = collectingLog();
    const server = await createHttpServer(door.engine, options(log, { console: false }));
    expect((await begin(CONSOLE, server.url)).code).toBe('unauthenticated');
    expect((await send(server.url, 'GET', '/inbox', {})).code).toBe('unauthenticated');
    await server.close(0);
  });

  test('a sign-in that was made before counts no more at a server without the console', async () => {
    const { log } = collectingLog();
    const before = await createHttpServer(door.engine, options(log));
    const { cookie } = await begin(CONSOLE, before.url);
    const asked = { ...CONSOLE, Cookie: pairIn(cookie) };
    expect((await send(before.url, 'GET', '/api/v1/runs', asked)).status).toBe(200);
    await before.close(0);
    const after = await createHttpServer(door.engine, options(log, { console: false, port: before.port }));
    expect((await send(after.url, 'GET', '/api/v1/runs', asked)).code).toBe('unauthenticated');
    await after.close(0);
  });
});
