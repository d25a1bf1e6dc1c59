import { expect, it } from 'vitest';
import { environmentSpec, mayReach } from '../../../src/core/containers/environment-spec.js';

/** Which hosts a container without a network may reach. */

const reach = (rule: string, host: string, port = 443): boolean => mayReach([rule], host, port);

it('is the host that a rule names, whatever its case, on the ports of the web', () => {
  expect(reach('example.com', 'example.com', 80)).toBe(true);
  expect(reach('example.com', 'EXAMPLE.com.')).toBe(true);
  for (const host of ['www.example.com', 'example.com.evil.test', 'badexample.com', 'example', 'com'])
    expect(reach('example.com', host), host).toBe(false);
  expect(reach('example.com', 'example.com', 22)).toBe(false);
  expect(mayReach([], 'example.com', 443)).toBe(false);
});

it('or any below a suffix, and not the suffix itself', () => {
  expect(reach('*.example.com', 'a.example.com')).toBe(true);
  expect(reach('*.example.com', 'a.b.example.com')).toBe(true);
  for (const host of ['example.com', 'badexample.com', '.example.com.evil.test'])
    expect(reach('*.example.com', host), host).toBe(false);
});

it('on the port that it names, and no other', () => {
  expect(reach('example.com:8443', 'example.com', 8443)).toBe(true);
  expect(reach('*.example.com:8443', 'a.example.com', 8443)).toBe(true);
  expect(reach('example.com:8443', 'example.com', 443)).toBe(false);
});

it('is not what can be no rule', () => {
  const parse = (rule: string) =>
    environmentSpec.safeParse({ image: 'any', security: { allowedEgress: [rule] } }).success;
  for (const rule of ['example.com', '*.example.com', 'a_b.test:1', '10.0.0.1', 'example.com:65535'])
    expect(parse(rule), rule).toBe(true);
  for (const rule of [
    '',
    '*',
    '*.',
    'a.*.com',
    'https://example.com',
    'example.com/',
    'Example.com',
    'a:0',
    'a:b',
    '.a',
    'a b',
    '[::1]',
  ])
    expect(parse(rule), rule).toBe(false);
});
