import { expect, it } from 'vitest';
import { readRouters } from '../../../src/core/routing/router-problems.js';

const problemsOf = (routers: unknown): Record<string, string> =>
  Object.fromEntries(readRouters(routers).problems.map(({ pointer, detail }) => [pointer, detail]));

it('nothing is wrong with what is right', () => {
  const routers = {
    cheap: {
      strategy: 'cost_optimized',
      candidates: ['ollama/qwen3', { model: 'openai/gpt-5', weight: 2, supports: ['tools'], contextTokens: 400_000 }],
      fallback: ['router/big'],
      budget: { usdPerRequest: '0.05' },
      retries: { attempts: 3 },
      breaker: { failures: 2, statuses: [500] },
    },
    big: { strategy: 'load_balanced', candidates: [{ model: 'a', weight: 0 }, 'b'] },
    ab: { strategy: 'experiment', arms: [0.1, 0.2, 0.7].map((share, at) => ({ name: `${at}`, model: 'm', share })) },
  };
  expect(problemsOf(routers)).toEqual({});
  expect(problemsOf(undefined)).toEqual({});
});

it('names every wrong field of every router at once', () => {
  expect(
    problemsOf({
      odd: { strategy: 'cheapest', candidates: ['a'] },
      none: { strategy: 'round_robin', candidates: [] },
      typo: { strategy: 'round_robin', candidates: ['a', { model: 'b', wieght: 1 }] },
      nameless: { strategy: 'round_robin', candidates: [{ weight: 1 }] },
      hasty: { strategy: 'round_robin', candidates: ['a'], breaker: { failures: 1 } },
      misplaced: { strategy: 'round_robin', candidates: ['a'], budget: { usdPerRequest: '1' } },
      dear: { strategy: 'cost_optimized', candidates: ['a'], budget: { usdPerRequest: 'much' } },
    }),
  ).toEqual({
    '/routers/odd/strategy': expect.stringMatching(/expected a strategy: round_robin, cost_optimized/),
    '/routers/none/candidates': 'expected at least one candidate',
    '/routers/typo/candidates/1/wieght': 'is not known here',
    '/routers/nameless/candidates/0/model': expect.any(String),
    '/routers/hasty/breaker/failures': expect.any(String),
    '/routers/misplaced/budget': 'is not known here',
    '/routers/dear/budget/usdPerRequest': expect.stringMatching(/expected dollars/),
  });
});

it('a wrong router hides nothing of what is wrong with the others', () => {
  expect(
    problemsOf({
      odd: { strategy: 'cheapest', candidates: ['a'] },
      lost: { strategy: 'round_robin', candidates: ['router/nowhere', 'router/odd'] },
      short: { strategy: 'experiment', arms: [{ name: 'a', model: 'm', share: 0.5 }] },
    }),
  ).toEqual({
    '/routers/odd/strategy': expect.any(String),
    '/routers/lost/candidates/0': 'there is no router "nowhere"',
    '/routers/short/arms': 'the shares make 0.5, expected 1',
  });
});

it('weights and shares must make something', () => {
  const arm = (name: string, share: number) => ({ name, model: 'm', share });
  expect(
    problemsOf({
      still: {
        strategy: 'load_balanced',
        candidates: [
          { model: 'a', weight: 0 },
          { model: 'b', weight: 0 },
        ],
      },
      short: { strategy: 'experiment', arms: [arm('a', 0.5), arm('b', 0.4)] },
      twice: { strategy: 'experiment', arms: [arm('a', 0.5), arm('a', 0.5)] },
    }),
  ).toEqual({
    '/routers/still/candidates': expect.stringMatching(/weights make 0/),
    '/routers/short/arms': 'the shares make 0.9, expected 1',
    '/routers/twice/arms/1/name': 'another arm has the same name',
  });
});

it('routers that lead back to themselves are refused where the circle closes, and those that are not there where they are named', () => {
  const robin = (candidates: string[], fallback: string[] = []) => ({ strategy: 'round_robin', candidates, fallback });
  expect(problemsOf({ a: robin(['m'], ['router/b']), b: robin(['router/c']), c: robin(['m', 'router/a']) })).toEqual({
    '/routers/c/candidates/1': 'it leads back to itself: a → b → c → a',
  });
  expect(problemsOf({ a: robin(['router/a']) })).toEqual({
    '/routers/a/candidates/0': 'it leads back to itself: a → a',
  });
  expect(problemsOf({ a: robin(['m'], ['n', 'router/big']) })).toEqual({
    '/routers/a/fallback/1': 'there is no router "big"',
  });
  // Two ways to the same router are no circle.
  expect(problemsOf({ a: robin(['router/b', 'router/c']), b: robin(['router/c']), c: robin(['m']) })).toEqual({});
});
