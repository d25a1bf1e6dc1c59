import { describe, expect, it } from 'vitest';
import { checkCapability } from '../../../src/core/grants/capability.js';
import { type GrantInput, parseGrants } from '../../../src/core/grants/grants.js';

describe('speed', () => {
  const within = (limitMs: number, grants: readonly GrantInput[], requests: readonly string[]) => {
    const set = parseGrants(grants);
    // Time of this process, not of the clock: other processes may be busy.
    const began = process.cpuUsage();
    for (const request of requests) checkCapability(set, request);
    const { user, system } = process.cpuUsage(began);
    expect((user + system) / 1000).toBeLessThan(limitMs);
  };
  const many = Array.from({ length: 10_000 }, (_, index) => index);

  it('10,000 rules times 10,000 checks: many places', () => {
    const grants = many.map((n) => `fs:read:/work/${n}/**`);
    within(
      20_000,
      grants,
      many.map((n) => `fs:read:/work/${n}/a/b/c`),
    );
  });

  it('10,000 rules times 10,000 checks: the same beginning', () => {
    const grants = many.map((n) => `fs:read:/work/*/**/name${n}`);
    within(
      20_000,
      grants,
      many.map((n) => `fs:read:/work/a/b/c/d/name${n}x`),
    );
  });

  it('10,000 rules times 10,000 checks: addresses', () => {
    const grants = many.map((n) => `network:http:get https://h${n}.example.com/v1/**`);
    within(
      20_000,
      grants,
      many.map((n) => `network:http:get https://h${n}.example.com/v1/x`),
    );
  });

  it('no pattern is exponential', () => {
    const deep = `fs:read:${'/**/a'.repeat(120)}/b`;
    within(
      10_000,
      [deep],
      Array.from({ length: 10 }, () => `fs:read:${'/a'.repeat(256)}`),
    );
  });
});
