import { expect, it } from 'vitest';
import { seededRandom } from '../../../src/core/seeded-random.js';
import { ModelCallError } from '../../../src/models/failures/model-call-error.js';
import { functionModel } from '../../../src/models/providers/function-model.js';
import { SLOW } from '../../harness/slow.js';
import { requestOf, textItem } from '../requests.js';
import { Routed } from './routed.js';

/** Ten thousand requests of a day, at candidates that break and are mended, by a clock that is set by hand. */

const REQUESTS = 10_000;
const HELLO = requestOf({ input: 'Hello' });

const names = ['a', 'b', 'c', 'd'] as const;
type Name = (typeof names)[number];
const weights: { readonly [name in Name]: number } = { a: 4, b: 3, c: 2, d: 1 };

/** Each candidate is ill for some minutes of its own in each hour; `last` never is. */
const isIll = (name: Name, now: number): boolean => {
  const minute = Math.floor(now / 60_000) % 60;
  return minute >= names.indexOf(name) * 15 && minute < names.indexOf(name) * 15 + 10;
};

it.runIf(SLOW)(
  'a balanced router answers every request, keeps its weights while all are well, and leaves those alone that are ill',
  async () => {
    const asked = { well: new Map<string, number>(), ill: new Map<string, number>() };
    const count = (of: Map<string, number>, name: string) => of.set(name, (of.get(name) ?? 0) + 1);
    const model = (name: Name) =>
      functionModel(name, () => {
        const anybodyIll = names.some((one) => isIll(one, routed.now));
        if (!anybodyIll) count(asked.well, name);
        if (!isIll(name, routed.now)) return [textItem(name)];
        count(asked.ill, name);
        throw new ModelCallError('model_failed', 'ill', { retryable: true, statusCode: 503 });
      });
    const routed: Routed = new Routed(
      {
        r: {
          strategy: 'load_balanced',
          candidates: names.map((name) => ({ model: name, weight: weights[name] })),
          breaker: { windowMs: 60_000, cooldownMs: 60_000 },
        },
      },
      Object.fromEntries(names.map((name) => [name, model(name)])),
    );
    const random = seededRandom('a day');
    const byIll = new Map<string, number>();
    for (let n = 0; n < REQUESTS; n++) {
      routed.now += Math.floor(random() * 2 * 8_640);
      const { text, route } = await routed.ask('r', HELLO);
      expect(text).toBe(route?.model);
      if (names.some((name) => isIll(name, routed.now))) count(byIll, text);
    }
    const total = [...asked.well.values()].reduce((a, b) => a + b);
    expect(total).toBeGreaterThan(REQUESTS / 4);
    for (const name of names) {
      const share = weights[name] / 10;
      const bound = 5 * Math.sqrt(total * share * (1 - share));
      // The one that was ill a moment ago may still rest.
      expect(Math.abs((asked.well.get(name) ?? 0) - total * share)).toBeLessThanOrEqual(bound + total * 0.03);
      // Ill for 240 minutes of the day: asked until the breaker opens, then about once a minute.
      expect(asked.ill.get(name) ?? 0).toBeLessThan(24 * (10 + 8));
    }
    // No one had to wait: someone was always well.
    expect(routed.waits).toEqual([]);
  },
);

it.runIf(SLOW)('no request takes more attempts or more time than it may, whatever happens', async () => {
  const random = seededRandom('chaos');
  const chaotic = (name: string) =>
    functionModel(name, () => {
      const dice = random();
      if (dice < 0.1) return [textItem(name)];
      const statusCode = [400, 401, 402, 404, 429, 500, 503][Math.floor(random() * 7)] ?? null;
      const retryAfterMs = random() < 0.3 ? Math.floor(random() * 20_000) : null;
      const retryable = statusCode === 429 || (statusCode ?? 0) >= 500;
      throw new ModelCallError('model_failed', 'no', { retryable, statusCode, retryAfterMs });
    });
  const routed = new Routed(
    {
      r: {
        strategy: 'round_robin',
        candidates: ['a', 'b', 'c'],
        fallback: ['router/s'],
        retries: { attempts: 3, minWaitMs: 100, maxWaitMs: 5_000 },
        breaker: { exhaustedCooldownMs: 60_000 },
      },
      s: { strategy: 'round_robin', candidates: ['d'], retries: { attempts: 2, maxWaitMs: 3_000 } },
    },
    Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, chaotic(name)])),
  );
  const ends = { answered: 0, failed: 0 };
  for (let n = 0; n < 3_000; n++) {
    routed.now += Math.floor(random() * 60_000);
    const [before, noted] = [routed.now, routed.notes.length];
    await routed.ask('r', HELLO).then(
      ({ text, route }) => {
        ends.answered++;
        expect(route?.attempts.at(-1)).toEqual({ model: text, outcome: 'answered' });
      },
      (error: unknown) => {
        ends.failed++;
        expect(error).toMatchObject({ code: expect.stringMatching(/^(route_failed|model_refused)$/) });
      },
    );
    expect(routed.now - before).toBeLessThanOrEqual(5_000 + 3_000);
    expect(routed.notes.length - noted).toBeLessThanOrEqual(3 * 3 + 2);
  }
  expect(ends.answered).toBeGreaterThan(100);
  expect(ends.failed).toBeGreaterThan(100);
});
