import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RouteNeed } from '../../../src/core/routing/route-need.js';
import type { CostOf } from '../../../src/core/routing/route-order.js';
import { armOf, orderOf } from '../../../src/core/routing/route-order.js';
import type { RouterConfig } from '../../../src/core/routing/router-config.js';
import { planOf } from '../../../src/core/routing/router-plan.js';
import { seededRandom } from '../../../src/core/seeded-random.js';

const NEED: RouteNeed = { capabilities: [], inputTokens: 1_000, maxOutputTokens: 1_000, taskType: null };
/** Dollars for a million tokens that go in, and that come out. */
const PRICES: { readonly [model: string]: readonly [input: number, output: number] } = {
  ...{ dear: [5, 15], free: [0, 0], 'cheap in': [0.1, 10], 'cheap out': [3, 0.1] },
};
const costOf: CostOf = ({ model }, input, output) => {
  const price = PRICES[model];
  return price === undefined ? null : input * price[0] + output * price[1];
};

const plan = (config: RouterConfig) => planOf('r', config);
const seed = () => seededRandom('orders');

/** The models in the order in which a request asks them. */
function order(config: RouterConfig, need: Partial<RouteNeed> = {}): string[] {
  const { candidates } = plan(config);
  const places = [...candidates.keys()];
  const input = { need: { ...NEED, ...need }, costOf, random: seed(), lastFirst: [] };
  return orderOf(plan(config), places, input).map((place) => candidates[place]?.model ?? '');
}

describe('load_balanced', () => {
  it('asks each as often as its weight says, within four standard deviations', () => {
    const weights = [1, 2, 0, 7, 0.5];
    const config: RouterConfig = {
      strategy: 'load_balanced',
      candidates: weights.map((weight, at) => ({ model: `m${at}`, weight })),
    };
    const split = plan(config);
    const [total, requests, random] = [weights.reduce((a, b) => a + b), 20_000, seed()];
    const counts = weights.map(() => 0);
    const laterThan: number[] = [];
    for (let n = 0; n < requests; n++) {
      const places = orderOf(split, [0, 1, 2, 3, 4], { need: NEED, costOf, random, lastFirst: [] });
      counts[places[0] ?? -1] = (counts[places[0] ?? -1] ?? 0) + 1;
      laterThan.push(places.indexOf(2));
    }
    for (const [at, weight] of weights.entries()) {
      const p = weight / total;
      expect(Math.abs((counts[at] ?? 0) - requests * p)).toBeLessThanOrEqual(4 * Math.sqrt(requests * p * (1 - p)));
    }
    expect(new Set(laterThan)).toEqual(new Set([4]));
  });

  it('gives every candidate a place, whatever the weights', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(5), { minLength: 1, maxLength: 8 }), fc.string(), (weights, text) => {
        const candidates = weights.map((weight, at) => ({ model: `m${at}`, weight }));
        const random = seededRandom(text);
        const places = [...weights.keys()];
        const found = orderOf(plan({ strategy: 'load_balanced', candidates }), places, {
          need: NEED,
          costOf,
          random,
          lastFirst: [],
        });
        expect([...found].sort((a, b) => a - b)).toEqual(places);
      }),
    );
  });
});

describe('round_robin', () => {
  it.each([
    ['all can serve', false],
    ['one cannot now and then', true],
  ])('asks who was first the longest ago, where %s', (_name, sometimes) => {
    const config: RouterConfig = { strategy: 'round_robin', candidates: ['a', 'b', 'c'] };
    const lastFirst = [0, 0, 0];
    const counts = [0, 0, 0];
    for (let n = 1; n <= 3_000; n++) {
      const places = sometimes && n % 7 === 0 ? [0, 2] : [0, 1, 2];
      const [first = -1] = orderOf(plan(config), places, { need: NEED, costOf, random: seed(), lastFirst });
      // No one takes the turn of another beside its own.
      expect(lastFirst[first]).not.toBe(n - 1 || -1);
      lastFirst[first] = n;
      counts[first] = (counts[first] ?? 0) + 1;
    }
    if (!sometimes) expect(counts).toEqual([1_000, 1_000, 1_000]);
    expect(Math.min(...counts)).toBeGreaterThan(3_000 * (6 / 7) * (1 / 3));
  });
});

describe('cost_optimized', () => {
  const candidates = ['unknown', 'dear', 'free', 'cheap in', 'cheap out'];

  it('asks the cheapest for this request first, and those of unknown price last: unknown is not free', () => {
    const config: RouterConfig = { strategy: 'cost_optimized', candidates };
    expect(order(config)).toEqual(['free', 'cheap out', 'cheap in', 'dear', 'unknown']);
    const long = { inputTokens: 100_000, maxOutputTokens: 100 };
    expect(order(config, long)).toEqual(['free', 'cheap in', 'cheap out', 'dear', 'unknown']);
  });
});

describe('capability_based', () => {
  it('asks those of the task first, then those of any, then those of others', () => {
    const config: RouterConfig = {
      strategy: 'capability_based',
      candidates: [
        { model: 'prose', taskTypes: ['prose'] },
        { model: 'any' },
        { model: 'any, known', supports: ['tools'] },
        { model: 'code', taskTypes: ['code', 'sql'] },
      ],
      fallback: ['last'],
    };
    expect(order(config, { taskType: 'sql' })).toEqual(['code', 'any, known', 'any', 'prose', 'last']);
    expect(order(config)).toEqual(['any, known', 'any', 'prose', 'code', 'last']);
  });
});

describe('experiment', () => {
  const arms = [
    { name: 'a', model: 'x', share: 0.7 },
    { name: 'b', model: 'y', share: 0.3 },
    { name: 'off', model: 'z', share: 0 },
  ];
  const split = plan({ strategy: 'experiment', arms });
  const never = () => {
    throw new Error('no chance in a run');
  };

  it('keeps a run in its arm, and spreads runs by their shares', () => {
    const counts = [0, 0, 0];
    for (let n = 0; n < 20_000; n++) {
      const arm = armOf(split, `run_${n}`, never);
      if (n % 100 === 0) for (let turn = 0; turn < 50; turn++) expect(armOf(split, `run_${n}`, never)).toBe(arm);
      counts[arm] = (counts[arm] ?? 0) + 1;
    }
    expect(counts[2]).toBe(0);
    expect(Math.abs((counts[0] ?? 0) - 14_000)).toBeLessThanOrEqual(4 * Math.sqrt(20_000 * 0.7 * 0.3));
  });

  it('spreads the runs again by another name', () => {
    const other = plan({ strategy: 'experiment', experiment: 'second', arms });
    const moved = Array.from(
      { length: 1_000 },
      (_, n) => armOf(split, `run_${n}`, never) !== armOf(other, `run_${n}`, never),
    );
    // 2 × 0.7 × 0.3 of independent spreads differ.
    expect(moved.filter(Boolean).length).toBeGreaterThan(350);
  });

  it('has an arm for every number, also where shares make 1 only nearly', () => {
    const thirds = plan({
      strategy: 'experiment',
      arms: ['a', 'b', 'c'].map((name) => ({ name, model: name, share: 1 / 3 - 1e-10 })),
    });
    expect(armOf(thirds, null, () => 1 - 2 ** -53)).toBe(2);
  });
});
