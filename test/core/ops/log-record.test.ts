import { expect, test } from 'vitest';
import { type LogFields, logRecord } from '../../../src/core/ops/log-record.js';

const said = (details: object, message = 'words') =>
  logRecord({ component: 'worker', event: 'tested', ...details }, message);
const dataOf = (details: object) => said(details).data as Record<string, unknown>;

test('whom a line is about stands beside who says what; the rest is data', () => {
  expect(said({ runId: 'run_1', workerId: 'w', taskId: null, segment: 3, ok: true, at: new Date(0) })).toEqual({
    ...{ component: 'worker', event: 'tested', runId: 'run_1', workerId: 'w', message: 'words' },
    data: { segment: 3, ok: true, at: '1970-01-01T00:00:00.000Z' },
  });
  expect(said({})).toEqual({ component: 'worker', event: 'tested', message: 'words' });
});

test.each([
  ['token', 'abc'],
  ['Authorization', 'abc'],
  ['api_key', 'abc'],
  ['x-api-key', 'abc'],
  ['databaseUrl', 'postgres://ann:abc@host/db'],
  ['why', 'cannot reach postgres://ann:abc@host:5432/db'],
  ['header', 'Authorization: Bearer abcabcabcabc'],
  ['said', 'no key sk-abcabcabcabc'],
])('what is secret is not in a line: %s', (name, value) => {
  const nested = said({ [name]: value, deep: { list: [{ [name]: value }] }, err: new Error(value) }, value);
  const text = JSON.stringify(nested);
  expect(text).toContain('[redacted]');
  if (!['token', 'Authorization', 'api_key', 'x-api-key'].includes(name)) expect(text).not.toContain('abc');
  else expect(dataOf({ [name]: value })).toEqual({ [name]: '[redacted]' });
});

const KEY = 'Zq7wXk29PmL4vTnB';
/** Names of fields, headers and variables, and texts in which a key stands without a name that says so. */
const NAMES = [
  ...['token', 'access_token', 'accessToken', 'refresh_token', 'id_token', 'authToken', 'x-auth-token', 'csrf-token'],
  ...['client_secret', 'clientSecret', 'secret', 'webhook_secret', 'secretAccessKey', 'AWS_SECRET_ACCESS_KEY'],
  ...['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'api_key', 'apiKey', 'APIKEY', 'x-api-key', 'GROQ_KEY', 'private_key'],
  ...['signingKey', 'accessKeyId', 'encryption-key', 'password', 'PGPASSWORD', 'db_password', 'passwd', 'passphrase'],
  ...['Authorization', 'proxy-authorization', 'auth', 'cookie', 'set-cookie', 'Set-Cookie', 'cookies', 'credentials'],
  ...[
    'aws_session_token',
    'HOLDFAST_TOKENS',
    'jwt',
    'signature',
    'X-Amz-Signature',
    'databaseUrl',
    'connection_string',
  ],
];
const TEXTS = [
  ...[`https://host/cb?access_token=${KEY}`, `https://host/?a=1&api_key=${KEY}&b=2`, `https://host/#id_token=${KEY}`],
  ...[
    `https://${KEY}@host/path`,
    `https://${KEY}:x-oauth-basic@host/`,
    `https://x:${KEY}@host/`,
    `redis://:${KEY}@host:1`,
  ],
  ...[
    `postgres://ann:p@${KEY}@host/db`,
    `git+https://${KEY}@host/a.git`,
    `OPENAI_API_KEY=${KEY}`,
    `client_secret: ${KEY}`,
  ],
  ...[`{"client_secret":"${KEY}"}`, `{'password': '${KEY}'}`, `Bearer ${KEY}`, `Authorization: Bearer ${KEY}`],
  ...[
    `authorization: Basic ${KEY}==`,
    `set-cookie: sid=${KEY}; Path=/`,
    `Cookie: a=b; sid=${KEY}`,
    `password="${KEY}"`,
  ],
  ...[`sk-proj-${KEY}`, `export GITHUB_TOKEN=${KEY}`, `--client-secret=${KEY}`, `x-api-key: ${KEY}`],
];

test.each([
  ...NAMES.map((name) => [name, { [name]: KEY }, 'words'] as const),
  ...NAMES.map((name) => [`${name} inside`, { deep: [{ [name]: { value: KEY } }] }, 'words'] as const),
  ...TEXTS.map((text) => [text, { said: text, err: new Error(text), list: [text] }, `it failed: ${text}`] as const),
])('what is secret by its name or its form is in no line: %s', (_title, details, message) => {
  expect(JSON.stringify(said(details, message))).not.toContain(KEY);
});

test('what is known as secret is in no line, whatever it is called', () => {
  const without = (text: string) => text.replaceAll(KEY, '[redacted]');
  const line = logRecord({ component: 'http', event: 'request', path: `/a/${KEY}`, [KEY]: 1 }, KEY, without);
  expect(JSON.stringify(line)).not.toContain(KEY);
});

test('what only sounds like a secret is told', () => {
  const details = { key: 'report', idempotencyKey: 'order-1', publicKey: 'log+1+abc', author: 'ann', totalTokens: 5 };
  expect(dataOf(details)).toEqual(details);
  expect(said({}, 'token: expected a text; max_tokens=4096; see https://host/a@b').message).toBe(
    'token: expected a text; max_tokens=4096; see https://host/a@b',
  );
});

test('numbers of tokens are no secrets', () => {
  expect(dataOf({ totalTokens: 5, tokenIndex: 1 })).toEqual({ totalTokens: 5, tokenIndex: 1 });
});

test('an error is told with its code, its stack and its cause', () => {
  const cause = Object.assign(new Error('no room'), { code: '53100' });
  expect(dataOf({ err: new TypeError('it failed', { cause }) })['err']).toMatchObject({
    ...{ type: 'TypeError', message: 'it failed', stack: expect.stringContaining('log-record.test') },
    cause: { type: 'Error', code: '53100', message: 'no room' },
  });
});

test('whatever a line is given, it is one line of bounded JSON', () => {
  const cycle: Record<string, unknown> = { name: 'a' };
  cycle['self'] = cycle;
  const thrown = {
    get broken(): never {
      throw new Error('not to be read');
    },
  };
  const odd: readonly object[] = [
    { text: 'x'.repeat(1_000_000) },
    { list: Array.from({ length: 100_000 }, (_, n) => n) },
    { many: Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`key ${n}`, 'y'.repeat(3000)])) },
    { ...{ cycle, big: 10n, nothing: undefined, not: Number.NaN, of: Symbol('s'), run: () => 1 } },
    { lines: 'a\nb\u2028c\ud800' },
    { thrown },
    // Three bytes for each character, and six for each one that JSON escapes.
    { list: Array.from({ length: 9 }, () => '漢'.repeat(1300)) },
    { text: '漢'.repeat(2000), runId: '漢'.repeat(5000), workerId: '\u0001'.repeat(5000) },
    { list: Array.from({ length: 5 }, () => '\u0001'.repeat(400)) },
  ];
  for (const details of odd)
    for (const message of ['m'.repeat(100_000), '漢'.repeat(100_000), '\u0001'.repeat(100_000)]) {
      const line = JSON.stringify(said(details, message));
      expect(Buffer.byteLength(line)).toBeLessThan(16_300);
      expect(line).not.toContain('\n');
      expect(line.isWellFormed()).toBe(true);
    }
  expect(dataOf({ thrown })).toEqual({ unreadable: true });
  expect(logRecord({} as LogFields, 'words')).toEqual({ component: 'unknown', event: 'unknown', message: 'words' });
});
