import { describe, expect, it } from 'vitest';
import {
  afterAttempt,
  askBreaker,
  type BreakerResult,
  type BreakerState,
  CLOSED,
  probing,
} from '../../../src/core/routing/breaker.js';
import { planOf } from '../../../src/core/routing/router-plan.js';
import { seededRandom } from '../../../src/core/seeded-random.js';

type Settings = NonNullable<Parameters<typeof planOf>[1]['breaker']>;

/** One breaker and a clock that is set by hand. */
class Case {
  now = 1_000_000;
  state: BreakerState = CLOSED;
  readonly #rules;

  constructor(breaker: Settings = {}) {
    this.#rules = planOf('r', { strategy: 'round_robin', candidates: ['a'], breaker }).breaker;
  }

  ask() {
    return askBreaker(this.state, this.now);
  }

  /** Begins an attempt, if it may. */
  begin() {
    const answer = this.ask();
    if (answer.lets && answer.probe) this.state = probing(this.state, this.#rules, this.now);
    return answer;
  }

  end(result: BreakerResult, probe = false): void {
    this.state = afterAttempt(this.state, this.#rules, this.now, { result, probe });
  }

  fail(times = 1): void {
    for (let n = 0; n < times; n++) this.end(FAILS);
  }
}

const WORKS: BreakerResult = { type: 'works' };
const FAILS: BreakerResult = { type: 'fails', exhausted: false, waitMs: null };

describe('a breaker', () => {
  it('never opens on a single first failure, whatever is configured', () => {
    const one = new Case({ failures: 2, minimumRequests: 2, percentage: 0 });
    one.fail();
    expect(one.ask()).toEqual({ lets: true, probe: false });
    one.fail();
    expect(one.ask().lets).toBe(false);
  });

  it('opens when all three bounds are reached, and by none of them alone', () => {
    const few = new Case({ failures: 3, minimumRequests: 10, percentage: 50 });
    few.fail(9);
    expect(few.ask().lets).toBe(true);
    const rare = new Case({ failures: 3, minimumRequests: 4, percentage: 50 });
    for (let n = 0; n < 6; n++) rare.end(WORKS);
    rare.fail(5);
    expect(rare.ask().lets).toBe(true);
    rare.fail();
    expect(rare.ask().lets).toBe(false);
  });

  it.each([5_000, 60_000, 3_600_000])('counts the last %i ms, as configured', (windowMs) => {
    const inside = new Case({ failures: 2, minimumRequests: 2, windowMs });
    inside.fail();
    inside.now += windowMs * 0.8;
    inside.fail();
    expect(inside.ask().lets).toBe(false);
    const outside = new Case({ failures: 2, minimumRequests: 2, windowMs });
    outside.fail();
    outside.now += windowMs * 1.1;
    outside.fail();
    expect(outside.ask().lets).toBe(true);
  });

  it('lets one attempt find out after the cooldown, and closes when it works', () => {
    const one = new Case({ failures: 2, minimumRequests: 2, cooldownMs: 1_000 });
    one.fail(2);
    expect(one.begin()).toMatchObject({ lets: false, until: one.now + 1_000 });
    one.now += 1_000;
    expect(one.begin()).toEqual({ lets: true, probe: true });
    expect(one.begin()).toMatchObject({ lets: false, why: /another request/ });
    // An attempt from before the cooldown says nothing of now.
    one.end(WORKS);
    expect(one.begin().lets).toBe(false);
    one.end(WORKS, true);
    expect(one.begin()).toEqual({ lets: true, probe: false });
    one.fail();
    expect(one.begin().lets).toBe(true);
  });

  it('opens again when the attempt fails, and lets another find out when it was given up or never came back', () => {
    const one = new Case({ failures: 2, minimumRequests: 2, cooldownMs: 1_000 });
    one.fail(2);
    one.now += 1_000;
    one.begin();
    one.end(FAILS, true);
    expect(one.begin().lets).toBe(false);
    one.now += 1_000;
    one.begin();
    one.end({ type: 'unknown' }, true);
    expect(one.begin()).toEqual({ lets: true, probe: true });
    one.now += 1_000;
    expect(one.begin()).toEqual({ lets: true, probe: true });
  });

  it('rests as long as its server asks, and is closed after it', () => {
    const one = new Case();
    one.end({ type: 'fails', exhausted: false, waitMs: 7_000 });
    expect(one.ask()).toEqual({ lets: false, until: one.now + 7_000, why: 'its server asked to wait' });
    one.now += 7_000;
    expect(one.ask()).toEqual({ lets: true, probe: false });
  });

  it('rests long when the budget at its provider is used up, at once', () => {
    const one = new Case({ exhaustedCooldownMs: 3_600_000 });
    one.end({ type: 'fails', exhausted: true, waitMs: null });
    expect(one.ask()).toMatchObject({ lets: false, until: one.now + 3_600_000, why: /be spent is used up/ });
    one.now += 3_600_000;
    expect(one.begin()).toEqual({ lets: true, probe: true });
  });

  it('opens and closes over ten thousand attempts at a server that breaks and is mended, and stays small', () => {
    const random = seededRandom('breaker');
    const one = new Case({ windowMs: 2_000, cooldownMs: 2_000 });
    const let_ = { broken: 0, working: 0 };
    const asked = { broken: 0, working: 0 };
    for (let n = 0; n < 10_000; n++) {
      one.now += Math.floor(random() * 100);
      // Broken for 30 s of each minute.
      const when = Math.floor(one.now / 30_000) % 2 === 0 ? 'broken' : 'working';
      asked[when]++;
      const answer = one.begin();
      if (!answer.lets) continue;
      let_[when]++;
      one.end(when === 'broken' || random() < 0.02 ? FAILS : WORKS, answer.probe);
      expect(one.state.parts.length).toBeLessThanOrEqual(10);
    }
    expect(let_.broken / asked.broken).toBeLessThan(0.15);
    expect(let_.working / asked.working).toBeGreaterThan(0.93);
  });
});
