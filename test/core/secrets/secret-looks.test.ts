import { expect, it } from 'vitest';
import { notHoldfast, ServerAway } from '../../../src/cli/event-stream.js';
import { logRecord } from '../../../src/core/ops/log-record.js';
import { shownAddress, withoutSecretPatterns } from '../../../src/core/secrets/secret-patterns.js';

it.each([
  ['https://ann:pw83mZq0@host/a', 'https://[redacted]@host/a'],
  ['s3://pw83mZq0@bucket/{tenant}', 's3://[redacted]@bucket/{tenant}'],
  ['tcp://a:b@c pw83mZq0@host:1', 'tcp://[redacted]@host:1'],
  ['pw83mZq0@host', '[redacted]@host'],
  ['https://host/?access_token=pw83mZq0', 'https://host/?access_token=[redacted]'],
  ['https://host/path', 'https://host/path'],
])('an address in an error has no user and no password: %s', (value, expected) => {
  expect(shownAddress(value)).toBe(expected);
});

it('an error about a server names its address without its password', () => {
  const url = 'http://ann:pw83mZq0@host:1';
  const cause = new TypeError(`Request cannot be constructed from a URL that includes credentials: ${url}/api`);
  for (const { message } of [notHoldfast(url, 'status 200'), new ServerAway(url, cause)]) {
    expect(message).toContain('host:1');
    expect(message).not.toContain('pw83mZq0');
  }
});

const SCHEMES = [
  ...[
    'Token',
    'token',
    'ApiKey',
    'Api-Key',
    'apikey',
    'AWS4-HMAC-SHA256',
    'Key',
    'Bearer',
    'Basic',
    'Digest',
    'Negotiate',
  ],
  ...['NTLM', 'Hawk', 'OAuth', 'MAC', 'DPoP', 'GenieKey', 'SharedKey', 'SSWS', 'Splunk', 'sso-key', 'Bot', 'hmac'],
  // Of which no list knows.
  ...['Snowflake', 'PRIVATE-TOKEN', 'GoogleLogin', 'Zoho-oauthtoken', 'Scheme_2'],
];
const LETTERS_AND_DIGITS = 'QZV1xT3aL0mN7pR2sK8wJ4vB6cD9fG5hY1uEoIqA';
const ONLY_LETTERS = 'zqvwkxjhzqvwkxjhzqvwkxjhzqvwkxjhzqvwkxjh';
const VALUES = [4, 5, 8, 12, 20, 40].flatMap((length) =>
  [LETTERS_AND_DIGITS, ONLY_LETTERS].map((whole) => whole.slice(0, length)),
);

const PLACES: readonly (readonly [string, (scheme: string, value: string) => string])[] = [
  ['a header', (scheme, value) => `Authorization: ${scheme} ${value}`],
  ['a header without a space', (scheme, value) => `authorization:${scheme} ${value}`],
  ['a header of a proxy', (scheme, value) => `Proxy-Authorization: ${scheme}  ${value}`],
  ['a header with a tab', (scheme, value) => `Authorization:\t${scheme}\t${value}`],
  ['a folded header', (scheme, value) => `Authorization: ${scheme}\r\n ${value}\r\nHost: x`],
  ['a header of a name of its own', (scheme, value) => `X-Auth-Token: ${scheme} ${value}`],
  ['a key with a scheme', (scheme, value) => `x-api-key: ${scheme} ${value}`],
  ['an assignment', (scheme, value) => `authorization=${scheme} ${value}`],
  ['a parameter', (scheme, value) => `authorization%3A%20${scheme}%20${value}`],
  ['JSON', (scheme, value) => `{"authorization":"${scheme} ${value}"}`],
  ['JSON in JSON', (scheme, value) => `{\\"authorization\\":\\"${scheme} ${value}\\"}`],
  ['a list in JSON', (scheme, value) => `["Host", "x", "Authorization", "${scheme} ${value}"]`],
  ['an inspected map', (scheme, value) => `Map(1) {'authorization' => '${scheme} ${value}'}`],
  ['a command', (scheme, value) => `curl -H "Authorization: ${scheme} ${value}" https://h`],
  ['an option', (scheme, value) => `call --authorization ${scheme} ${value} --verbose`],
  ['a quoted option', (scheme, value) => `call --authorization '${scheme} ${value}'`],
  ['a code span', (scheme, value) => `\`Authorization: ${scheme} ${value}\``],
  ['parameters', (scheme, value) => `Authorization: ${scheme} username="u", response="${value}"`],
  ['bare parameters', (scheme, value) => `Authorization: ${scheme} Credential=AK/x, Signature=${value}`],
];

it.each(PLACES)('no scheme keeps what stands behind it: %s', (_place, written) => {
  const kept = SCHEMES.flatMap((scheme) => VALUES.map((value) => ({ text: written(scheme, value), value })));
  expect(kept.filter(({ text, value }) => withoutSecretPatterns(text).includes(value)).map(({ text }) => text)).toEqual(
    [],
  );
});

const FIELDS: readonly (readonly [string, (credentials: string) => object])[] = [
  ['a header', (authorization) => ({ headers: { authorization } })],
  ['raw headers', (value) => ({ rawHeaders: ['Host', 'x', 'Authorization', value] })],
  ['pairs', (value) => ({ headers: [['Authorization', value]] })],
  ['objects of a name and a value', (value) => ({ headers: [{ name: 'Authorization', value }] })],
  ['objects of a key and values', (value) => ({ headers: [{ key: 'x-api-key', values: [value] }] })],
  ['arguments', (value) => ({ spawnargs: ['call', '--authorization', value] })],
  ['a text', (value) => ({ said: `sent Authorization: ${value}` })],
];

it.each(FIELDS)('no field of the log keeps what stands behind a scheme: %s', (_place, written) => {
  for (const scheme of SCHEMES)
    for (const value of VALUES) {
      const line = logRecord({ component: 'c', event: 'e', ...written(`${scheme} ${value}`) }, 'sent');
      expect(JSON.stringify(line)).not.toContain(value);
    }
});

it.each([
  ['//u:pass12345@h', '//[redacted]@h'],
  ['see "//user:hunter@host/x".', 'see "//[redacted]@host/x".'],
  ['at=//pw83mZq0@[::1]:80', 'at=//[redacted]@[::1]:80'],
  ['postgres://ann:pw83/mZq0@host/db', 'postgres://[redacted]@host/db'],
  ["--password 'two words' --all", '--password [redacted] --all'],
  ['private_key: -----BEGIN PRIVATE KEY-----\nMIIab\n-----END PRIVATE KEY-----', 'private_key: [redacted]'],
  ['Authorization: Token QZV1 was refused by the host', 'Authorization: Token [redacted] was refused by the host'],
])('what is secret goes, and what is said around it stays: %s', (text, expected) => {
  expect(withoutSecretPatterns(text)).toBe(expected);
});

it.each([
  'Authorization: permission denied',
  'authentication: expected a user and a password',
  '["token", "password"]',
  'missing: "OPENAI_API_KEY", "ANTHROPIC_API_KEY"',
  'http://localhost:8080/@vite/client',
  '// see a@b',
  'the key token is missing',
])('what holds no secret stays as it is: %s', (text) => {
  expect(withoutSecretPatterns(text)).toBe(text);
});

it('a text that only repeats the beginning of a secret takes no longer for that', () => {
  const units = [
    'token=',
    'authorization: ',
    'auth: x a=b, ',
    '--auth-',
    '"token" , ',
    'https://a:',
    'auth: x a="',
    'auth',
  ];
  const began = performance.now();
  for (const unit of units) withoutSecretPatterns(unit.repeat(Math.ceil(20_000 / unit.length)));
  expect(performance.now() - began).toBeLessThan(2000);
});
