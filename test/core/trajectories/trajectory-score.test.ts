import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { likeness, type Sketch } from '../../../src/core/trajectories/sketch.js';
import {
  diversityOf,
  qualityOf,
  sketching,
  type TrajectoryCounts,
} from '../../../src/core/trajectories/trajectory-score.js';

const CLEAN: TrajectoryCounts = {
  ...{ steps: 3, copiedSteps: 0, unanswered: 0, calls: 2, invalid: 0 },
  ...{ failed: 0, refused: 0, repeated: 0, retries: 0 },
};

const count = fc.nat(50);
const counts: fc.Arbitrary<TrajectoryCounts> = fc
  .record({
    steps: fc.integer({ min: 1, max: 60 }),
    copiedSteps: count,
    unanswered: count,
    retries: count,
    rest: count,
  })
  .chain(({ rest, ...counted }) =>
    fc.record({ invalid: count, failed: count, refused: count }).chain((ended) => {
      const calls = ended.invalid + ended.failed + ended.refused + rest;
      return fc.nat(Math.max(0, calls - 1)).map((repeated) => ({ ...counted, ...ended, calls, repeated }));
    }),
  );

const calls = fc.array(fc.tuple(fc.constantFrom('look', 'pay', 'begin', 'end'), fc.constantFrom('a', 'b', 'c')), {
  maxLength: 60,
});
const sketchOf = (made: readonly (readonly [string, string])[]): Sketch => {
  const into = sketching();
  for (const [tool, digest] of made) into.add(tool, digest);
  return into.sketch();
};

describe('quality', () => {
  it('is from 0 to 1, and the same for the same', () => {
    fc.assert(
      fc.property(counts, fc.integer({ min: 1, max: 10_000 }), (one, maxTurns) => {
        const score = qualityOf(one, maxTurns);
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(1);
        expect(qualityOf({ ...one }, maxTurns)).toBe(score);
      }),
    );
  });

  it('is not higher for one more of anything that is worse', () => {
    const worse = fc.constantFrom('invalid', 'failed', 'refused', 'repeated', 'retries', 'steps') as fc.Arbitrary<
      keyof TrajectoryCounts
    >;
    fc.assert(
      fc.property(counts, worse, (one, name) => {
        // As many calls as before, of which one more went wrong.
        const wrong = one.invalid + one.failed + one.refused;
        fc.pre(name === 'retries' || name === 'steps' || (wrong < one.calls && one.repeated < one.calls - 1));
        // More steps dilute attempts that were repeated.
        fc.pre(name !== 'steps' || one.retries === 0);
        expect(qualityOf({ ...one, [name]: one[name] + 1 }, 50)).toBeLessThanOrEqual(qualityOf(one, 50) ?? 1);
      }),
    );
  });

  it('is 1 for one clean step, null for none, and what the page says else', () => {
    expect(qualityOf({ ...CLEAN, steps: 1 }, 10)).toBe(1);
    expect(qualityOf({ ...CLEAN, steps: 1, calls: 0 }, 1)).toBe(1);
    expect(qualityOf({ ...CLEAN, steps: 0 }, 10)).toBe(null);
    expect(qualityOf({ ...CLEAN, steps: 11, calls: 4, invalid: 1, failed: 1, repeated: 2, retries: 11 }, 21)).toBe(
      Math.round((1 - 0.3 / 4 - 0.25 / 4 - 0.2 / 2 - 0.1 - 0.15 / 2) * 1e6) / 1e6,
    );
  });
});

describe('diversity', () => {
  it('is from 0 to 1, the same for the same, and 0 only beside what did the same', () => {
    fc.assert(
      fc.property(calls, fc.array(calls, { maxLength: 10 }), (made, others) => {
        const [sketch, sketches] = [sketchOf(made), others.map(sketchOf)];
        const score = diversityOf(sketch, sketches);
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(1);
        expect(diversityOf(sketchOf(made), sketches)).toBe(score);
        expect(diversityOf(sketch, [sketch, sketch])).toBe(0);
      }),
    );
  });

  it('likeness is symmetric, and sketches are bounded, sorted and safe as JSON', () => {
    fc.assert(
      fc.property(calls, calls, (a, b) => {
        const [one, other] = [sketchOf(a), sketchOf(b)];
        expect(likeness(one, other)).toBe(likeness(other, one));
        expect(one.length).toBeLessThanOrEqual(64);
        expect([...one].sort((x, y) => x - y)).toEqual(one);
        expect(one.every(Number.isSafeInteger)).toBe(true);
        expect(new Set(one).size).toBe(one.length);
      }),
    );
  });

  it('is 1 for the first, and for one that has nothing in common with the others', () => {
    const [looked, paid] = [sketchOf([['look', 'a']]), sketchOf([['pay', 'a']])];
    expect(diversityOf(looked, [])).toBe(1);
    expect(diversityOf(looked, [paid])).toBe(1);
    expect(diversityOf(sketchOf([['look', 'b']]), [looked])).toBeGreaterThan(0);
    expect(diversityOf(sketchOf([['look', 'b']]), [looked])).toBeLessThan(1);
    expect(diversityOf(sketchOf([]), [sketchOf([])])).toBe(0);
  });
});
