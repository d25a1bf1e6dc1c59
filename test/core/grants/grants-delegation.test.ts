import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../../src/core/errors/errors.js';
import { checkCapability } from '../../../src/core/grants/capability.js';
import {
  type GrantEffect,
  type GrantInput,
  type GrantSet,
  grantsToJson,
  parseGrants,
} from '../../../src/core/grants/grants.js';
import { delegateGrants, narrowGrants } from '../../../src/core/grants/grants-narrowing.js';

const loaded = (inputs: readonly GrantInput[]): GrantSet => parseGrants(inputs, { allowEverything: true });
const stored = (set: GrantSet): GrantSet => loaded(JSON.parse(JSON.stringify(grantsToJson(set))));
const effectOf = (set: GrantSet, request: string): GrantEffect => checkCapability(set, request).effect;

describe('what a child run holds', () => {
  const parent = loaded([
    'fs:read:/work/**',
    { capability: 'fs:read:/work/shared/**', effect: 'allow', delegate: true },
    { capability: 'fs:write:/work/shared/**', effect: 'ask', delegate: true },
    { capability: 'fs:read:/work/shared/secret/**', effect: 'deny' },
    { capability: 'tool:call:search', effect: 'allow', use: false, delegate: true },
    { capability: 'payments:pay:eur', effect: 'allow', delegate: true },
    { capability: 'payments:pay:usd', effect: 'ask' },
  ]);
  const agent = loaded(['fs:*:*', 'tool:call:*', 'payments:pay:*']);

  it('is what its parent may pass on, not what its parent may use', () => {
    const { grants } = delegateGrants(parent, agent);
    expect(effectOf(parent, 'fs:read:/work/own')).toBe('allow');
    expect(effectOf(grants, 'fs:read:/work/own')).toBe('deny');
    expect(effectOf(grants, 'fs:read:/work/shared/x')).toBe('allow');
    expect(effectOf(grants, 'fs:write:/work/shared/x')).toBe('ask');
    expect(effectOf(grants, 'fs:read:/work/shared/secret/x')).toBe('deny');
    expect(effectOf(grants, 'payments:pay:usd')).toBe('deny');
  });

  it('may be what its parent may pass on but not use', () => {
    expect(effectOf(parent, 'tool:call:search')).toBe('deny');
    expect(effectOf(delegateGrants(parent, agent).grants, 'tool:call:search')).toBe('allow');
  });

  it('is never more than its own agent holds', () => {
    const { grants } = delegateGrants(parent, loaded([{ capability: 'tool:call:*', effect: 'ask' }]));
    expect(effectOf(grants, 'fs:read:/work/shared/x')).toBe('deny');
    expect(effectOf(grants, 'tool:call:search')).toBe('ask');
  });

  it('is only what the call asks for, and what is missing is named', () => {
    const { grants, missing } = delegateGrants(parent, agent, ['payments:pay:eur', 'fs:read:/work/**', 'fs:read:/etc']);
    expect(effectOf(grants, 'payments:pay:eur')).toBe('allow');
    expect(effectOf(grants, 'fs:read:/work/shared/x')).toBe('allow');
    expect(effectOf(grants, 'tool:call:search')).toBe('deny');
    expect(missing).toEqual(['fs:read:/etc', 'fs:read:/work/**']);
    expect(delegateGrants(parent, agent).missing).toEqual(['fs:*:*', 'payments:pay:*', 'tool:call:*']);
  });

  it('is behind a question, also where a wider grant beside it could be passed on', () => {
    const asking = loaded([
      { capability: 'fs:read:*', effect: 'allow', delegate: true },
      { capability: 'fs:read:/secret/**', effect: 'ask' },
    ]);
    expect(effectOf(asking, 'fs:read:/secret/x')).toBe('ask');
    expect(effectOf(delegateGrants(asking, agent).grants, 'fs:read:/secret/x')).toBe('deny');
  });

  it('is nothing when the parent may pass on nothing, the agent has nothing, or nothing is asked for', () => {
    for (const { grants } of [
      delegateGrants(loaded(['fs:read:*']), agent),
      delegateGrants(loaded([]), agent),
      delegateGrants(parent, loaded([])),
      delegateGrants(parent, agent, []),
    ])
      for (const set of [grants, stored(grants)])
        for (const request of ['fs:read:/work/shared/x', 'payments:pay:eur', 'tool:call:search'])
          expect(effectOf(set, request)).toBe('deny');
  });

  it('keeps what the parent run was narrowed to', () => {
    const narrowed = narrowGrants(parent, ['payments:pay:eur']);
    const { grants } = delegateGrants(narrowed, agent);
    expect(effectOf(grants, 'payments:pay:eur')).toBe('allow');
    expect(effectOf(grants, 'fs:read:/work/shared/x')).toBe('deny');
    const kept = narrowGrants(parent, [{ capability: 'payments:pay:eur', effect: 'allow', delegate: false }]);
    expect(effectOf(kept, 'payments:pay:eur')).toBe('allow');
    expect(effectOf(delegateGrants(kept, agent).grants, 'payments:pay:eur')).toBe('deny');
  });

  it('is passed on to a grandchild only where every agent between may', () => {
    const between = loaded(['fs:read:*', { capability: 'payments:pay:*', effect: 'allow', delegate: true }]);
    const child = delegateGrants(parent, between).grants;
    expect(effectOf(child, 'fs:read:/work/shared/x')).toBe('allow');
    const grandchild = delegateGrants(stored(child), agent).grants;
    expect(effectOf(grandchild, 'fs:read:/work/shared/x')).toBe('deny');
    expect(effectOf(grandchild, 'payments:pay:eur')).toBe('allow');
  });

  it('refuses a grant that is none', () => {
    expect(() => delegateGrants(parent, agent, ['fs:raed:/x'])).toThrow(HoldfastError);
  });
});

/** The model: each grant on its own, as a regular expression made from its text. */
interface Row {
  readonly capability: string;
  readonly effect: GrantEffect;
  readonly use: boolean;
  readonly delegate: boolean;
}

const expressionOf = (capability: string): RegExp => {
  const [domain = '', action = '', scope = ''] = capability.split(':');
  const field = (text: string) => (text === '*' ? '[a-z]+' : text);
  const segments = scope.slice(1).split('/');
  const path = segments
    .map((one) => (one === '**' ? '(/[^/]+)*' : one === '*' ? '/[^/]+' : one === '' ? '' : `/${one}`))
    .join('');
  return new RegExp(`^${field(domain)}:${field(action)}:${scope === '*' ? '.*' : `(?=/)${path}/?`}$`);
};
const matching = (rows: readonly Row[], request: string): Row[] =>
  rows.filter((row) => expressionOf(row.capability).test(request));

/** What a list of grants lets its own run do. */
const mayUse = (rows: readonly Row[], request: string): GrantEffect => {
  const found = matching(rows, request);
  if (found.some((row) => row.effect === 'deny')) return 'deny';
  const usable = found.filter((row) => row.use).map((row) => row.effect);
  return usable.length === 0 ? 'deny' : usable.includes('ask') ? 'ask' : 'allow';
};

/** What it lets its run pass on. */
const mayPassOn = (rows: readonly Row[], request: string): GrantEffect => {
  const found = matching(rows, request);
  if (found.some((row) => row.effect === 'deny' || (row.effect === 'ask' && !row.delegate))) return 'deny';
  const passed = found.filter((row) => row.delegate).map((row) => row.effect);
  return passed.length === 0 ? 'deny' : passed.includes('ask') ? 'ask' : 'allow';
};

const STRICTNESS: Record<GrantEffect, number> = { deny: 0, ask: 1, allow: 2 };
const strictest = (...effects: readonly GrantEffect[]): GrantEffect =>
  effects.reduce((a, b) => (STRICTNESS[a] <= STRICTNESS[b] ? a : b));

const path = fc
  .array(fc.constantFrom('a', 'b', '*', '**'), { maxLength: 4 })
  .filter((segments) => !segments.some((one, index) => one === '**' && segments[index + 1] === '**'))
  .map((segments) => `/${segments.join('/')}`);
const capability = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(fc.constantFrom('read', 'write', '*'), path).map(([a, p]) => `fs:${a}:${p}`) },
  { weight: 2, arbitrary: fc.constantFrom('fs:read:*', 'fs:*:*', '*:*:*') },
);
const effect = fc.constantFrom<GrantEffect>('allow', 'allow', 'allow', 'ask', 'deny');
const rows = fc.array(fc.record({ capability, effect, use: fc.boolean(), delegate: fc.boolean() }), {
  minLength: 1,
  maxLength: 7,
});
const request = fc
  .tuple(fc.constantFrom('read', 'write'), fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 4 }))
  .map(([act, segments]) => `fs:${act}:/${segments.join('/')}`);
const requests = fc.array(request, { minLength: 1, maxLength: 30 });

describe('delegation against a brute-force model', () => {
  it('a child can do exactly what its parent may pass on, its agent may do, and was asked for', () => {
    let allowed = 0;
    fc.assert(
      fc.property(rows, rows, fc.option(rows, { nil: undefined }), requests, (parent, agent, asked, all) => {
        const set = delegateGrants(loaded(parent), loaded(agent), asked).grants;
        for (const one of all) {
          const asks = asked === undefined ? 'allow' : mayUse(asked, one);
          const wanted = strictest(mayPassOn(parent, one), mayUse(agent, one), asks);
          expect(effectOf(set, one)).toBe(wanted);
          expect(effectOf(stored(set), one)).toBe(wanted);
          if (wanted !== 'deny') allowed++;
        }
      }),
      { numRuns: 300 },
    );
    // Without some that pass, the comparison would say little. How many there are is chance.
    expect(allowed).toBeGreaterThan(5);
  });

  it('no chain of children widens: each holds at most what every run above it could pass on', () => {
    let allowed = 0;
    fc.assert(
      fc.property(fc.array(rows, { minLength: 2, maxLength: 5 }), requests, (agents, all) => {
        const sets = [loaded(agents[0] ?? [])];
        for (const agent of agents.slice(1))
          sets.push(delegateGrants(stored(sets.at(-1) ?? loaded([])), loaded(agent)).grants);
        for (const one of all)
          for (const [depth, set] of sets.entries()) {
            const got = effectOf(set, one);
            const above = agents.slice(0, depth).map((rows) => mayPassOn(rows, one));
            expect(got).toBe(strictest(mayUse(agents[depth] ?? [], one), ...above));
            if (depth > 0 && got !== 'deny') allowed++;
          }
      }),
      { numRuns: 150 },
    );
    expect(allowed).toBeGreaterThan(20);
  });
});
