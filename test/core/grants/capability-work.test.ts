import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkCapability } from '../../../src/core/grants/capability.js';
import { parsePattern, parseRequest } from '../../../src/core/grants/capability-text.js';
import { PatternTrie, Steps } from '../../../src/core/grants/capability-trie.js';
import { parseGrants } from '../../../src/core/grants/grants.js';
import { narrowGrants } from '../../../src/core/grants/grants-narrowing.js';

const patternPath = fc
  .array(fc.constantFrom('a', 'a', 'b', '*', '**'), { maxLength: 40 })
  .map((segments) => segments.filter((one, index) => one !== '**' || segments[index + 1] !== '**'))
  .map((segments) => `fs:read:/${segments.join('/')}`);
const requestPath = fc
  .array(fc.constantFrom('a', 'a', 'b'), { maxLength: 120 })
  .map((segments) => `fs:read:/${segments.join('/')}`);

describe('the work of comparing', () => {
  it('stays below the places of the patterns, and those behind "**" times the tokens', () => {
    fc.assert(
      fc.property(fc.array(patternPath, { maxLength: 30 }), requestPath, (patterns, request) => {
        const trie = new PatternTrie<string>();
        for (const text of patterns) trie.add(parsePattern(text).tokens, text);
        const { tokens } = parseRequest(request);
        const steps = new Steps();
        trie.find(tokens, steps);
        expect(steps.taken).toBeLessThanOrEqual(trie.places + trie.open * (tokens.length + 1));
        expect(trie.places).toBeLessThanOrEqual(
          1 + patterns.reduce((sum, one) => sum + parsePattern(one).tokens.length, 0),
        );
      }),
      { seed: 18, numRuns: 300 },
    );
  });

  it('is bounded where every place stays open', () => {
    const trie = new PatternTrie<number>();
    for (let n = 0; n < 40; n++) trie.add(parsePattern(`fs:read:/**${'/a'.repeat(200)}/${n}`).tokens, n);
    const steps = new Steps();
    expect(trie.find(parseRequest(`fs:read:${'/a'.repeat(256)}`).tokens, steps)).toEqual([]);
    // What the patterns begin with in common is walked once.
    expect(steps.taken).toBeLessThan(260 * 260);
  });

  it('of long paths and of many segments is refused before it begins', () => {
    const long = `fs:read:${'/a'.repeat(257)}`;
    expect(() => parsePattern(long)).toThrow('at most 256 segments');
    expect(() => parsePattern(`network:http:get https://h.example.com${'/a'.repeat(257)}`)).toThrow(
      'at most 256 segments',
    );
    expect(() => parsePattern(`fs:read:/${'a'.repeat(4096)}`)).toThrow('at most 4096 bytes');
    const set = parseGrants(['fs:read:/**', 'network:http:get https://h.example.com/**']);
    expect(checkCapability(set, long)).toMatchObject({
      effect: 'deny',
      reason: expect.stringContaining('256 segments'),
    });
    expect(checkCapability(set, `network:http:get https://h.example.com${'/a'.repeat(257)}`)).toMatchObject({
      effect: 'deny',
      reason: expect.stringContaining('256 segments'),
    });
    expect(checkCapability(set, `fs:read:${'/a'.repeat(256)}`).effect).toBe('allow');
  });

  it('of many grants is refused with the way out', () => {
    const many = (count: number, path: (n: number) => string) =>
      Array.from({ length: count }, (_, n) => `fs:read:${path(n)}`);
    expect(() => parseGrants(many(10_001, (n) => `/${n}`))).toThrow('at most 10000');
    const open = many(100, (n) => `/${n}/**${'/a'.repeat(250)}`);
    expect(() => parseGrants(open)).toThrow('at and after "**"');
    expect(() => parseGrants(many(900, (n) => `/${n}${'/a'.repeat(250)}`))).toThrow('200000 segments');
    const agent = parseGrants(['fs:read:/**', `fs:read:/**${'/*'.repeat(200)}/end`]);
    const asked = many(400, (n) => `${'/a'.repeat(250)}/${n}`);
    expect(() => narrowGrants(agent, asked)).toThrow('steps to compare');
  });
});
