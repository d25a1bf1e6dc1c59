import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AttemptWorth, choosePairs } from '../../../src/core/exports/preference.js';

const attempt = (reward: number, more: Partial<AttemptWorth> = {}): AttemptWorth => ({
  ...{ reward, verificationPassed: null, asked: 'q', said: `says ${reward}` },
  ...more,
});
const OPTIONS = { minMargin: 0.1, pairsPerTask: 4, deduplicate: true };
const chosen = (attempts: readonly AttemptWorth[], options: Partial<typeof OPTIONS> = {}) =>
  choosePairs(attempts, { ...OPTIONS, ...options });

describe('pairs', () => {
  it('are the best with the worst, the second best with the second worst, and so on', () => {
    const { pairs } = chosen([0.5, 1, 0, 0.9, 0.2].map((reward) => attempt(reward)));
    expect(pairs).toEqual([
      { chosen: 1, rejected: 2, margin: 1 },
      { chosen: 3, rejected: 4, margin: 0.7 },
    ]);
  });

  it('are none where the rewards are too close, and the margin is what people write', () => {
    const close = [attempt(0.3), attempt(0.2)];
    expect(0.3 - 0.2).toBeLessThan(0.1);
    expect(chosen(close).pairs).toEqual([{ chosen: 0, rejected: 1, margin: 0.1 }]);
    expect(chosen(close, { minMargin: 0.11 }).pairs).toEqual([]);
    expect(chosen([attempt(1), attempt(1, { said: 'other' })]).pairs).toEqual([]);
    expect(chosen([attempt(1)]).pairs).toEqual([]);
  });

  it('are only of attempts that were asked the same', () => {
    expect(chosen([attempt(1), attempt(0, { asked: 'other' })]).pairs).toEqual([]);
    const two = chosen([attempt(1), attempt(0), attempt(9, { asked: 'other' }), attempt(3, { asked: 'other' })]).pairs;
    expect(two).toEqual([
      { chosen: 2, rejected: 3, margin: 6 },
      { chosen: 0, rejected: 1, margin: 1 },
    ]);
  });

  it('are never of two that say the same, nor against what a verifier said', () => {
    const same = [attempt(1, { said: 'x' }), attempt(0, { said: 'x' })];
    expect(chosen(same)).toEqual({ pairs: [], duplicates: 1 });
    expect(chosen(same, { deduplicate: false })).toEqual({ pairs: [], duplicates: 0 });
    const against = [attempt(1, { verificationPassed: false }), attempt(0, { verificationPassed: true })];
    expect(chosen(against).pairs).toEqual([]);
    const [better, worse] = against;
    expect(
      chosen([
        { ...attempt(1), verificationPassed: true },
        { ...attempt(0), verificationPassed: false },
      ]).pairs,
    ).toHaveLength(1);
    expect(better?.said).not.toBe(worse?.said);
  });

  it('are no more than asked for, those with the largest margin', () => {
    const many = Array.from({ length: 20 }, (_, n) => attempt(n));
    const { pairs } = chosen(many, { pairsPerTask: 3 });
    expect(pairs.map(({ margin }) => margin)).toEqual([19, 17, 15]);
  });

  it('keep what they promise, whatever the attempts are', () => {
    const some = fc.record({
      reward: fc.double({ min: -1e6, max: 1e6, noNaN: true }),
      verificationPassed: fc.constantFrom(null, true, false),
      asked: fc.constantFrom('q', 'r'),
      said: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    });
    fc.assert(
      fc.property(
        fc.array(some, { maxLength: 30 }),
        fc.boolean(),
        fc.integer({ min: 1, max: 6 }),
        (all, deduplicate, pairsPerTask) => {
          const options = { minMargin: 0.5, pairsPerTask, deduplicate };
          const { pairs, duplicates } = choosePairs(all, options);
          expect(choosePairs(all, options).pairs).toEqual(pairs);
          expect(pairs.length).toBeLessThanOrEqual(pairsPerTask);
          const places = pairs.flatMap((pair) => [pair.chosen, pair.rejected]);
          expect(new Set(places).size).toBe(places.length);
          expect(places.length + duplicates).toBeLessThanOrEqual(all.length);
          for (const pair of pairs) {
            const [better, worse] = [all[pair.chosen], all[pair.rejected]];
            if (better === undefined || worse === undefined) throw new Error('it is not there');
            expect(better.asked).toBe(worse.asked);
            expect(better.said).not.toBe(worse.said);
            expect(better.reward - worse.reward).toBeGreaterThan(0.499);
            expect(better.verificationPassed === false && worse.verificationPassed === true).toBe(false);
          }
        },
      ),
    );
  });
});
