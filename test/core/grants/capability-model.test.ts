import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../../src/core/errors/errors.js';
import { checkCapability } from '../../../src/core/grants/capability.js';
import { type GrantEffect, type GrantInput, grantsToJson, parseGrants } from '../../../src/core/grants/grants.js';
import { narrowGrants } from '../../../src/core/grants/grants-narrowing.js';

/** The model: every grant is tried on its own, as a regular expression made from its text. */
type Row = { readonly capability: string; readonly effect: GrantEffect };

const scopeExpression = (scope: string): string => {
  if (scope === '*') return '.*';
  if (scope === '/') return '/';
  const inner = scope
    .slice(1)
    .split('/')
    .map((segment) => (segment === '**' ? '(/[^/]+)*' : segment === '*' ? '/[^/]+' : `/${segment}`))
    .join('');
  return `(?=/)${inner}/?`;
};

const field = (text: string) => (text === '*' ? '[a-z]+' : text);

const matches = (row: Row, request: string): boolean => {
  const [domain = '', action = '', scope = ''] = row.capability.split(':');
  return new RegExp(`^${field(domain)}:${field(action)}:${scopeExpression(scope)}$`).test(request);
};

const modelled = (rows: readonly Row[], request: string): GrantEffect => {
  const effects = rows.filter((row) => matches(row, request)).map((row) => row.effect);
  if (effects.length === 0 || effects.includes('deny')) return 'deny';
  return effects.includes('ask') ? 'ask' : 'allow';
};

const STRICTNESS: Record<GrantEffect, number> = { deny: 0, ask: 1, allow: 2 };
const strictest = (...effects: readonly GrantEffect[]): GrantEffect =>
  effects.reduce((a, b) => (STRICTNESS[a] <= STRICTNESS[b] ? a : b));

const letter = fc.constantFrom('a', 'b', 'c');
const pathOf = (segments: readonly string[]) => `/${segments.join('/')}`;
const requestPath = fc.array(letter, { maxLength: 5 }).map(pathOf);
const action = fc.constantFrom('read', 'write');
const request = fc.tuple(action, requestPath).map(([act, path]) => `fs:${act}:${path}`);

const patternPath = fc
  .array(fc.constantFrom('a', 'b', '*', '**'), { maxLength: 5 })
  .filter((segments) => !segments.some((one, index) => one === '**' && segments[index + 1] === '**'))
  .map(pathOf);
const pattern = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.constantFrom('read', 'write', '*'), patternPath).map(([a, p]) => `fs:${a}:${p}`),
  },
  { weight: 1, arbitrary: fc.constantFrom('fs:read:*', 'fs:*:*', '*:write:*', '*:*:*') },
);
const effect = fc.constantFrom<GrantEffect>('allow', 'allow', 'ask', 'deny');
const rows = fc.array(fc.record({ capability: pattern, effect }), { maxLength: 8 });
const loaded = (inputs: readonly GrantInput[]) => parseGrants(inputs, { allowEverything: true });

describe('the checker against a brute-force model', () => {
  it('says what the model says', () => {
    fc.assert(
      fc.property(rows, fc.array(request, { minLength: 1, maxLength: 20 }), (grants, requests) => {
        const set = loaded(grants);
        for (const one of requests) {
          const check = checkCapability(set, one);
          expect(check.effect).toBe(modelled(grants, one));
          const rule = grants.find((row) => row.capability === check.rule && row.effect === check.effect);
          if (check.rule !== null) expect(rule !== undefined && matches(rule, one)).toBe(true);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('a narrowed set is the strictest of both', () => {
    let narrowed = 0;
    fc.assert(
      fc.property(rows, rows, fc.array(request, { minLength: 1, maxLength: 30 }), (agent, asked, requests) => {
        try {
          const set = narrowGrants(loaded(agent), asked);
          narrowed += asked.length > 0 ? 1 : 0;
          for (const one of requests) {
            expect(checkCapability(set, one).effect).toBe(strictest(modelled(agent, one), modelled(asked, one)));
          }
          const stored = loaded(JSON.parse(JSON.stringify(grantsToJson(set))));
          expect(stored.policyVersion).toBe(set.policyVersion);
          for (const one of requests) expect(checkCapability(stored, one)).toEqual(checkCapability(set, one));
        } catch (error) {
          if (!(error instanceof HoldfastError)) throw error;
          expect(error.code).toBe('grants_widened');
        }
      }),
      { numRuns: 1000 },
    );
    expect(narrowed).toBeGreaterThan(30);
  });

  it('what narrowing lets pass, the agent holds; what the agent wrote itself, it may ask for', () => {
    fc.assert(
      fc.property(rows, pattern, fc.array(request, { minLength: 1, maxLength: 50 }), (agent, capability, requests) => {
        const asked: Row = { capability, effect: 'allow' };
        let passed = true;
        try {
          narrowGrants(loaded(agent), [asked]);
        } catch {
          passed = false;
        }
        const allowing = agent.filter((row) => row.effect !== 'deny');
        if (passed) {
          for (const one of requests) {
            if (matches(asked, one)) expect(allowing.some((row) => matches(row, one))).toBe(true);
          }
        }
        const written = allowing.some((row) => row.capability === capability);
        if (written && !agent.some((row) => row.effect === 'deny')) expect(passed).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('never throws, whatever is asked', () => {
    const set = loaded(['*:*:*']);
    const noise = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc
        .tuple(
          fc.constantFrom('fs:read:', 'network:http:get ', 'proc:exec:', 'mcp:call:', 'x:y:'),
          fc.string({ unit: 'binary' }),
        )
        .map((parts) => parts.join('')),
      fc.webUrl({ withFragments: true, withQueryParameters: true }).map((url) => `network:http:get ${url}`),
    );
    fc.assert(
      fc.property(noise, (text) => {
        const check = checkCapability(set, text);
        expect(['allow', 'deny']).toContain(check.effect);
        if (check.effect === 'allow') expect(checkCapability(set, check.capability)).toEqual(check);
      }),
      { numRuns: 2000 },
    );
  });
});
