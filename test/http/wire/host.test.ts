import { expect, test } from 'vitest';
import { isLoopback } from '../../../src/http/auth/host.js';

test.each(['127.0.0.1', '127.1.2.3', 'localhost', 'LOCALHOST', '::1', '[::1]', '0:0:0:0:0:0:0:1'])(
  '%s is loopback',
  (host) => expect(isLoopback(host)).toBe(true),
);

test.each([
  '0.0.0.0',
  '::',
  '10.0.0.1',
  '128.0.0.1',
  'example.com',
  'localhost.example.com',
  '127.0.0.1.example.com',
  '',
])('%s is not loopback', (host) => expect(isLoopback(host)).toBe(false));
