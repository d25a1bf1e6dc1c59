import { describe, expect, it } from 'vitest';
import { nearestName, unknownNames } from '../../src/core/nearest-name.js';

const KNOWN = ['baseURL', 'apiKey', 'numCtx', 'keepAlive', 'timeoutMs'];

describe('the nearest known name', () => {
  it.each([
    ['baseUrl', 'baseURL'],
    ['base_url', 'baseURL'],
    ['num-ctx', 'numCtx'],
    ['timeotuMs', 'timeoutMs'],
    ['timeout', 'timeoutMs'],
    ['keepalve', 'keepAlive'],
    ['apikeys', 'apiKey'],
    ['host', null],
    ['', null],
    ['x'.repeat(10_000), null],
  ])('of %j is %j', (name, nearest) => {
    expect(nearestName(name, KNOWN)).toBe(nearest);
  });

  it('is said for each name that is not known, at its place', () => {
    expect(unknownNames({ apiKey: 1, 'a/b': 1, baseUrl: 2 }, KNOWN)).toEqual([
      { pointer: '/a~1b', detail: 'is not known here' },
      { pointer: '/baseUrl', detail: 'is not known here; the nearest known name is baseURL' },
    ]);
  });
});
