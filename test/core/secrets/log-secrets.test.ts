import { describe, expect, it } from 'vitest';
import { logRecord } from '../../../src/core/ops/log-record.js';
import { SecretMatcher } from '../../../src/core/secrets/secret-matcher.js';

const SECRET = 'Zq8vT3xL0mN7pR2s';
const line = (fields: object, message = 'it happened') =>
  JSON.stringify(logRecord({ component: 'c', event: 'e', ...fields }, message));

const NAMES = [
  ...[
    'access_token',
    'client_secret',
    'OPENAI_API_KEY',
    'set-cookie',
    'apiKey',
    'x-api-key',
    'authorization',
    'password',
  ],
  ...[
    'pass',
    'passwd',
    'pw',
    'pin',
    'passphrase',
    'private_key',
    'AWS_SECRET_ACCESS_KEY',
    'sessionToken',
    'session_id',
    'sid',
  ],
  ...[
    'csrf',
    'xsrfToken',
    'refresh_token',
    'jwt',
    'bearer',
    'connection_string',
    'DATABASE_URL',
    'dsn',
    'hmac',
    'otp',
    'totp',
  ],
  ...['mfa_code', 'webhook_secret', 'slack_webhook', 'code_verifier', 'key', 'keys', 'GITHUB_PAT', 'pat', 'npm_auth'],
  ...[
    'client_assertion',
    'saml_response',
    'ssh_key',
    'pem',
    'JSESSIONID',
    'PHPSESSID',
    'x-amz-security-token',
    'sas_token',
  ],
];

const TEXTS = [
  `GET /x?access_token=${SECRET}`,
  `https://${SECRET}@host/x`,
  `https://u:${SECRET}@host`,
  `//u:${SECRET}@host/x`,
  `u:${SECRET}@host refused`,
  `redis://:${SECRET}@host`,
  `Authorization: Bearer ${SECRET}`,
  `Proxy-Authorization: Digest ${SECRET}`,
  `Cookie: a=b; sid=${SECRET}`,
  `"client_secret":"${SECRET}"`,
  `{\\"client_secret\\":\\"${SECRET}\\"}`,
  `{\\\\\\"client_secret\\\\\\": \\\\\\"${SECRET}\\\\\\"}`,
  `client_secret%3D${SECRET}`,
  `?key=${SECRET}`,
  `&code=${SECRET}&state=1`,
  `curl -u user:${SECRET} https://host`,
  `--password ${SECRET} --verbose`,
  `--api-key=${SECRET}`,
  `the password is ${SECRET}`,
  `token ${SECRET} was refused`,
  `Incorrect API key provided: ${SECRET}`,
  `password => "${SECRET}"`,
  `password := ${SECRET}`,
  `<password>${SECRET}</password>`,
  `AccountKey=${SECRET};EndpointSuffix=x`,
  `Server=x;Pwd=${SECRET};`,
  `ghp_${SECRET}AAAAAAAAAAAAAAAAAAAA`,
  `github_pat_11AAAA_${SECRET}`,
  `xoxb-123456789012-${SECRET}`,
  `AIza${SECRET}AAAAAAAAAAAAAAAAAAA`,
  `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.${SECRET}`,
  `glpat-${SECRET}`,
  `hf_${SECRET}AAAAAAAAAA`,
  `npm_${SECRET}AAAAAAAAAAAAAAAAAA`,
  `sk-ant-${SECRET}`,
  `sk_live_${SECRET}AAAA`,
  `whsec_${SECRET}`,
  `SG.${SECRET}.${SECRET}`,
  `-----BEGIN PRIVATE KEY-----\n${SECRET}\n-----END PRIVATE KEY-----`,
  `https://hooks.slack.com/services/T0/B0/${SECRET}`,
  `https://api.telegram.org/bot123456:${SECRET}/send`,
  `https://discord.com/api/webhooks/123/${SECRET}`,
];

describe('a line of the log', () => {
  it.each(NAMES)('says nothing of the field %s', (name) => {
    expect(line({ [name]: SECRET })).not.toContain(SECRET);
    expect(line({ detail: { [name]: [SECRET] } })).not.toContain(SECRET);
  });

  it.each(TEXTS)('has no secret in a text: %s', (text) => {
    for (const said of [line({}, text), line({ url: text }), line({ error: new Error(text) }), line({ [text]: 1 })])
      expect(said).not.toContain(SECRET);
  });

  it('hides numbers that open something, and shows counts', () => {
    expect(line({ pin: 12_345_678, password: 12_345_678, otp: 12_345_678 })).not.toContain('12345678');
    expect(line({ totalTokens: 12_345_678, tokens: 12_345_678 }).match(/12345678/g)).toHaveLength(2);
  });

  it('keeps what says what happened', () => {
    for (const text of [
      'The token: expected a text',
      'the key is missing',
      'OPENAI_API_KEY is not set',
      'password authentication failed for user "x"',
      'run run_19de87842409464cad62782ea3e66518 has failed',
      'https://host:8080/a?limit=10&cursor=abc',
      'POST /api/v1/runs 202 in 12 ms',
      'the tokens were read',
      'error code 42P01 at position 17',
      'mail to ann@example.com',
    ])
      expect(line({}, text)).toContain(JSON.stringify(text).slice(1, -1));
    expect(line({ key: 'runs', code: 'run_unknown', author: 'ann' })).toContain('"key":"runs"');
  });

  it('shows no part of a known secret where a long text is cut', () => {
    const known = 'known-and-long-secret-0123456789-0123456789-0123456789';
    const matcher = new SecretMatcher([known]);
    const hide = (text: string, wasCut: boolean) => {
      const scan = matcher.stream(() => '[redacted]');
      return scan.push(text) + (wasCut ? '' : scan.end());
    };
    const text = `${'x'.repeat(17)}${known.repeat(200)}`;
    expect(JSON.stringify(logRecord({ component: 'c', event: 'e' }, text, hide))).not.toContain('known-and');
  });
});
