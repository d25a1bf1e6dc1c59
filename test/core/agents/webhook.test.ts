import { expect, test } from 'vitest';
import { headersOf, messageOf, retryWaitS, signingKeyOf, webhooksConfig } from '../../../src/core/agents/webhook.js';
import { literalSecret } from '../../../src/models/secrets/secret.js';

const one = { name: 'on-call', url: 'https://hooks.example.com/h', kinds: ['alert.changed'] };
const problemsOf = (webhooks: unknown) =>
  webhooksConfig.safeParse(webhooks).error?.issues.map(({ path, message }) => `${path.join('/')}: ${message}`) ?? [];

test('a signature is that of the specification', () => {
  // From the tests of the reference libraries of Standard Webhooks.
  const signingKey = signingKeyOf('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}' };
  expect(headersOf(message, 1614265330, { signingKey, bearer: null })).toEqual({
    'content-type': 'application/json',
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('without a key nothing is signed', () => {
  expect(headersOf({ id: 'evt_1', body: '{}' }, 1, { signingKey: null, bearer: 't' })).toEqual({
    ...{
      'content-type': 'application/json',
      'webhook-id': 'evt_1',
      'webhook-timestamp': '1',
      authorization: 'Bearer t',
    },
  });
});

test('a message names the event and has all of it', () => {
  const event = {
    ...{ seq: 7, kind: 'run.ended', at: '2026-02-04T10:30:00.000Z', tenant: 'default' },
    ...{ taskId: null, runId: 'run_1', workerId: null, data: { status: 'failed', code: 'limit_turns' } },
  };
  const { id, body } = messageOf(event);
  expect(id).toBe('evt_7');
  expect(JSON.parse(body)).toEqual({ type: 'run.ended', timestamp: event.at, data: event });
});

test.each([
  ['', null],
  ['whsec_', null],
  [`whsec_${Buffer.alloc(23).toString('base64')}`, null],
  [`whsec_${Buffer.alloc(24).toString('base64')}`, 24],
  [`whsec_${Buffer.alloc(64).toString('base64')}`, 64],
  [`whsec_${Buffer.alloc(65).toString('base64')}`, null],
  [`whsec_${'%'.repeat(40)}`, null],
  [Buffer.alloc(32).toString('base64'), null],
])('the signing key %j has %j bytes', (text, bytes) => {
  expect(signingKeyOf(text)?.length ?? null).toBe(bytes);
});

test('a failed request waits longer each time, up to five minutes', () => {
  expect([1, 2, 3, 6, 7, 8, 1000].map(retryWaitS)).toEqual([5, 10, 20, 160, 300, 300, 300]);
});

test.each([
  [[one], []],
  [[{ ...one, url: literalSecret('https://hooks.example.com/h') }], []],
  [[{ ...one, url: 'http://relay.example/h' }], []],
  [[{ ...one, url: 'http://localhost:8080/', bearer: literalSecret('t') }], []],
  [
    [{ ...one, url: 'http://relay.example/h', bearer: literalSecret('t') }],
    ['0/url: must begin with https://, unless it is this machine: each request carries a token'],
  ],
  [
    [{ ...one, url: 'https://ann:secret@hooks.example.com/' }],
    ['0/url: has a user or a password: give a token as `bearer`'],
  ],
  [[{ ...one, url: 'file:///etc/passwd' }], ['0/url: must begin with https:// or http://']],
  [[{ ...one, url: 'hooks.example.com' }], ['0/url: is no address such as https://hooks.example.com/holdfast']],
  [[one, { ...one }], ['1/name: is the name of another webhook too']],
  [[{ ...one, bearer: 'a text' }], ['0/bearer: is no place of a secret, such as secret.env("WEBHOOK_KEY")']],
])('a configuration is accepted or says why: case %#', (webhooks, problems) => {
  expect(problemsOf(webhooks)).toEqual(problems);
});

test.each([{ kinds: [] }, { kinds: ['run.exploded'] }, { name: 'On Call' }, { retries: 3 }, { url: 3 }])(
  'a configuration with %j is refused',
  (changes) => expect(problemsOf([{ ...one, ...changes }])).toHaveLength(1),
);
