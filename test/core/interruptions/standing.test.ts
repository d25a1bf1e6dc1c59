import { describe, expect, it } from 'vitest';
import { type StandingRule, standingFor, standingId, standingOf } from '../../../src/core/interruptions/standing.js';

const rule = (changes: Partial<StandingRule> = {}): StandingRule => ({
  id: 'std_1',
  agent: 'cashier',
  tool: 'pay',
  toolVersion: '1',
  scope: ['payments:pay:EUR'],
  exact: true,
  actor: 'ann',
  ...changes,
});
const call = { agent: 'cashier', tool: 'pay', version: '1', needs: ['payments:pay:EUR'] };
const found = (one: StandingRule, changes: Partial<typeof call> = {}) =>
  standingFor([standingOf(one)], { ...call, ...changes })?.rule.id ?? null;

describe('standingFor', () => {
  it('finds the standing decision of the same agent, tool and version', () => {
    expect(found(rule())).toBe('std_1');
  });

  it.each([
    ['another agent', { agent: 'clerk' }],
    ['another tool', { tool: 'refund' }],
    ['another version of the tool', { version: '2' }],
    ['another capability', { needs: ['payments:pay:USD'] }],
    ['one capability more', { needs: ['payments:pay:EUR', 'fs:read:/srv/a'] }],
  ])('does not cover %s', (_, changes) => {
    expect(found(rule(), changes)).toBeNull();
  });

  it('reads an exact scope literally, never as a pattern', () => {
    expect(found(rule({ scope: ['payments:pay:*'] }))).toBeNull();
    expect(found(rule({ scope: ['payments:pay:*'] }), { needs: ['payments:pay:*'] })).toBe('std_1');
  });

  it('reads a given scope like grants', () => {
    const wide = rule({ exact: false, scope: ['fs:read:/srv/**'] });
    expect(found(wide, { needs: ['fs:read:/srv/a/b'] })).toBe('std_1');
    expect(found(wide, { needs: ['fs:read:/etc/passwd'] })).toBeNull();
    expect(found(wide, { needs: ['fs:write:/srv/a'] })).toBeNull();
  });

  it('takes the first of several that cover the call', () => {
    const several = [rule({ id: 'std_1', tool: 'other' }), rule({ id: 'std_2' }), rule({ id: 'std_3' })];
    expect(standingFor(several.map(standingOf), call)?.rule.id).toBe('std_2');
  });
});

describe('standingOf', () => {
  it('refuses a scope that is not written like grants', () => {
    expect(() => standingOf(rule({ exact: false, scope: ['nonsense'] }))).toThrowError(
      expect.objectContaining({ code: 'capability_invalid' }),
    );
  });
});

describe('standingId', () => {
  it('gives one id for one approval', () => {
    expect(standingId('int_0a')).toBe('std_0a');
    expect(standingId('int_int_0a')).toBe('std_int_0a');
  });
});
