import { expect, it } from 'vitest';
import { notHoldfast, unreachable } from '../../src/cli/problem-answer.js';
import { shownAddress } from '../../src/core/secret-looks.js';

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
  for (const { message } of [notHoldfast(url, 'status 200'), unreachable(url, cause)]) {
    expect(message).toContain('host:1');
    expect(message).not.toContain('pw83mZq0');
  }
});
