import { describe, expect, it } from 'vitest';
import { planSearch } from '../../../src/core/memory/search-plan.js';

/** Which part of a query has so few matches that all of them are looked at. */

const words = new Map([
  ['rare', 10],
  ['other', 400],
  ["it's", 3],
  ['a\\b', 1],
  ['many', 501],
]);

describe('what is rare in a query', () => {
  it.each<[string, string | null, boolean]>([
    ['', null, true],
    ["'rare'", "'rare'", true],
    ["'common'", null, false],
    ["'many'", null, false],
    ["'rare' & 'common'", "'rare' & 'common'", true],
    ["'common' & 'common2'", null, false],
    ["'rare' | 'common'", "'rare'", false],
    ["'rare' | 'other'", "'rare' | 'other'", true],
    ["'common' <-> 'rare'", "'common' <-> 'rare'", true],
    ["'common' <2> 'common2' | 'rare' & !'other'", "'rare' & !'other'", false],
    ["!'rare'", null, false],
    ["'common' & !'rare'", null, false],
    ["'common' & ( 'rare' | 'other' )", "'common' & ('rare' | 'other')", true],
    ["'common' & ( 'rare' | 'common2' )", null, false],
    ["!( 'rare' & 'other' )", null, false],
    ["'it''s' & 'common'", "'it''s' & 'common'", true],
    ["'a\\\\b'", "'a\\\\b'", true],
  ])('%s', (query, rare, isWhole) => {
    expect(planSearch(query, words)).toEqual({ rare, isWhole });
  });

  it('of a query of many alternatives', () => {
    const query = Array.from({ length: 2000 }, () => "'rare'").join(' | ');
    expect(planSearch(query, words)).toEqual({ rare: query, isWhole: true });
  });
});
