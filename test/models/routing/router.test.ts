import { type StreamEvent, setTracingDisabled } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { FinalModelError } from '../../../src/models/failures/model-call-error.js';
import { classifyModelFailure } from '../../../src/models/failures/model-failure.js';
import { functionModel } from '../../../src/models/providers/function-model.js';
import type { AttemptWatch } from '../../../src/models/providers/model-attempt.js';
import { requestOf, textItem, weatherTool } from '../requests.js';
import { hangsUpAfter, hangsUpEarly, refuses, says } from '../servers/chat-answers.js';
import { type Answerer, reset, silence, wireServer } from '../servers/wire-server.js';
import { type Costs, chatModel, deltasIn, Routed } from './routed.js';

setTracingDisabled(true);

const HELLO = requestOf({ input: 'Hello' });
const WAYS = ['ask', 'stream'] as const;
type Answerers = readonly Answerer[];

/** Two candidates in their order, each a server on loopback; `b` is asked when `a` fails. */
async function pair(a: Answerers, b: Answerers, config: object = {}, costs: Costs = {}, others: object = {}) {
  const servers = [await wireServer(...a), await wireServer(...b)] as const;
  const models = { a: chatModel(servers[0]), b: chatModel(servers[1]) };
  const routed = new Routed(
    { r: { strategy: 'capability_based', candidates: ['a', 'b'], ...config }, ...others },
    models,
    costs,
  );
  return {
    routed,
    /** How often each was asked. */
    asked: () => servers.map(({ received }) => received.length),
    [Symbol.asyncDispose]: async () => {
      for (const server of servers) await server[Symbol.asyncDispose]();
    },
  };
}

describe.each(WAYS)('a router, by %s', (way) => {
  it('answers with the first candidate, and says so', async () => {
    await using t = await pair([says('from a')], [says('from b')]);
    const { text, route } = await t.routed[way]('r', HELLO);
    expect(text).toBe('from a');
    const attempts = [{ model: 'a', outcome: 'answered' }];
    expect(route).toEqual({ router: 'r', strategy: 'capability_based', model: 'a', attempts });
    expect(t.asked()).toEqual([1, 0]);
  });

  it.each([
    ['a server that fails', refuses(503, 'overloaded'), 'failed'],
    ['a connection that is reset', reset, 'failed'],
    ['a stream that ends before its first token', hangsUpEarly, 'failed'],
    ['a refused key', refuses(401, 'Incorrect API key provided: sk-test-0123456789'), 'rejected'],
    ['an unknown model', refuses(404, 'The model `m` does not exist', { type: 'model_not_found' }), 'rejected'],
    ['a request that it does not take', refuses(400, 'Unsupported parameter: store'), 'rejected'],
    ['a rate limit', refuses(429, 'Rate limit reached'), 'rate_limited'],
  ])('goes on to the next after %s, at once', async (_name, answer, outcome) => {
    await using t = await pair([answer], [says('from b')]);
    const { text, route } = await t.routed[way]('r', HELLO);
    expect(text).toBe('from b');
    expect(route?.attempts).toEqual([
      { model: 'a', outcome },
      { model: 'b', outcome: 'answered' },
    ]);
    // The client of a provider does not try again on its own meanwhile.
    expect(t.asked()).toEqual([1, 1]);
    expect(t.routed.waits).toEqual([]);
    expect(t.routed.notes).toMatchObject([{ router: 'r', model: 'a', outcome }]);
  });

  it('gives up a candidate that takes too long for its first token', async () => {
    await using t = await pair([silence], [says('from b')], { candidates: [{ model: 'a', timeoutMs: 100 }, 'b'] });
    expect(await t.routed[way]('r', HELLO)).toMatchObject({ text: 'from b', route: { model: 'b' } });
    expect(t.routed.notes).toMatchObject([{ model: 'a', outcome: 'timeout' }]);
  });

  it('fails as one provider does, where all refuse for good: also when it is asked by another router', async () => {
    const routers = { outer: { strategy: 'round_robin', candidates: ['router/r'] } };
    const servers = [refuses(400, 'a does not like it'), refuses(401, 'no key')] as const;
    await using t = await pair([servers[0]], [servers[1]], {}, {}, routers);
    for (const name of ['r', 'outer']) {
      await expect(t.routed[way](name, HELLO)).rejects.toMatchObject({
        code: 'model_refused',
        message: /a does not like it.*; b: .*no key/,
      });
    }
  });

  it('asks again after a wait that doubles, when all fail and may do better, and fails with the reason of each', async () => {
    const config = { retries: { attempts: 3, minWaitMs: 1_000, maxWaitMs: 60_000 } };
    await using t = await pair([refuses(500, 'a is ill')], [refuses(400, 'b does not like it')], config);
    await expect(t.routed[way]('r', HELLO)).rejects.toMatchObject({
      code: 'route_failed',
      message: /^No model of the router r answered\. a: .*a is ill.*; b: .*b does not like it/,
    });
    // A refusal of the request is not tried again; failures of the server are.
    expect(t.asked()).toEqual([3, 1]);
    const [first = 0, second = 0, ...more] = t.routed.waits;
    expect(more).toEqual([]);
    expect(first).toBeGreaterThanOrEqual(500);
    expect(first).toBeLessThanOrEqual(1_000);
    expect(second).toBeGreaterThanOrEqual(1_000);
    expect(second).toBeLessThanOrEqual(2_000);
  });

  it('is over as soon as it is given up, and asks no one else', async () => {
    const caller = new AbortController();
    await using t = await pair([() => caller.abort()], [says('from b')]);
    const request = requestOf({ signal: caller.signal });
    await expect(t.routed[way]('r', request)).rejects.toMatchObject({ name: 'AbortError' });
    expect(t.asked()).toEqual([1, 0]);
  });

  it('keeps keys out of its failures', async () => {
    await using t = await pair(
      [refuses(401, 'Incorrect key: sk-test-0123456789')],
      [refuses(401, 'Bearer sk-test-0123456789')],
    );
    await expect(t.routed[way]('r', HELLO)).rejects.toSatisfy(
      (error) => error instanceof Error && !error.message.includes('0123456789'),
    );
  });

  it('says what no candidate can do, and sends nothing', async () => {
    const candidates = [
      { model: 'a', supports: ['vision'] },
      { model: 'b', contextTokens: 10 },
    ];
    await using t = await pair([says('from a')], [says('from b')], { candidates });
    const request = requestOf({ input: 'word '.repeat(1_000), tools: [weatherTool] });
    await expect(t.routed[way]('r', request)).rejects.toMatchObject({
      code: 'route_impossible',
      message: /a: it does not support tools; b: the request has about \d+ tokens with its answer, and it takes 10\./,
    });
    expect(t.asked()).toEqual([0, 0]);
  });
});

describe('what users complain about in routers', () => {
  it.each([
    [
      'Anthropic',
      refuses(400, 'You have reached your specified API usage limits. You will regain access on 2099-01-01.'),
    ],
    ['OpenRouter', refuses(402, 'This request requires more credits')],
    ['OpenAI', refuses(429, 'You exceeded your current quota', { type: 'insufficient_quota' })],
  ])('1: a used-up budget at %s is left alone for long, not asked with every request', async (_name, answer) => {
    await using t = await pair([answer], [says('from b')]);
    const first = await t.routed.ask('r', HELLO);
    expect(first.route?.attempts[0]).toEqual({ model: 'a', outcome: 'exhausted' });
    t.routed.now += 59 * 60_000;
    const later = await t.routed.ask('r', HELLO);
    expect(later.route?.attempts[0]).toEqual({ model: 'a', outcome: 'resting' });
    expect(t.asked()).toEqual([1, 2]);
    t.routed.now += 60_000;
    await t.routed.ask('r', HELLO);
    expect(t.asked()).toEqual([2, 3]);
  });

  it('2: the budget is asked for every candidate, also for those of the fallback', async () => {
    const config = { candidates: ['a'], fallback: ['b'] };
    await using t = await pair([refuses(503, 'busy')], [says('from b, dearly')], {
      ...config,
      retries: { attempts: 1 },
    });
    const seen: string[] = [];
    const watch: AttemptWatch = {
      admit: async ({ model }) => {
        seen.push(model);
        const error = { code: 'limit_tokens' as const, message: 'The budget is used up.', hint: 'Raise it.' };
        return model === 'b'
          ? { admitted: false, reason: 'the budget is used up', error }
          : { admitted: true, settle: async (_usage, outcome) => void seen.push(outcome) };
      },
    };
    await expect(t.routed.ask('r', HELLO, { watch })).rejects.toMatchObject({
      code: 'limit_tokens',
      message: /^The budget is used up\. .*b: the budget is used up/,
      hint: 'Raise it.',
    });
    expect(seen).toEqual(['a', 'rejected', 'b']);
    expect(t.asked()).toEqual([1, 0]);
  });

  it.each([2_000, 600_000])('3: the window of failures is what is configured: %i ms', async (windowMs) => {
    const config = {
      breaker: { failures: 2, minimumRequests: 2, windowMs, cooldownMs: 9_000_000 },
      retries: { attempts: 1 },
    };
    await using t = await pair([refuses(500, 'ill')], [says('from b')], config);
    await t.routed.ask('r', HELLO);
    t.routed.now += 60_000;
    await t.routed.ask('r', HELLO);
    await t.routed.ask('r', HELLO);
    expect(t.asked()[0]).toBe(windowMs > 60_000 ? 2 : 3);
  });

  it('4: every failed attempt counts, also several of one request', async () => {
    const config = {
      candidates: ['a'],
      retries: { attempts: 3, minWaitMs: 1 },
      breaker: { failures: 3, minimumRequests: 3 },
    };
    await using t = await pair([refuses(500, 'ill')], [says('nobody')], config);
    await expect(t.routed.ask('r', HELLO)).rejects.toMatchObject({ code: 'route_failed' });
    t.routed.waits.length = 0;
    await expect(t.routed.ask('r', HELLO)).rejects.toMatchObject({ message: /rests: it failed too often|ill/ });
    // It waited for the end of the cooldown and tried once.
    expect(t.routed.waits[0]).toBe(30_000);
    expect(t.asked()[0]).toBe(4);
  });

  it('5: a stream goes on to the next before its first token, and never after it', async () => {
    await using early = await pair([hangsUpEarly], [says('from b')]);
    const seen: StreamEvent[] = [];
    await early.routed.stream('r', HELLO, seen);
    expect(deltasIn(seen)).toBe('from b');
    expect(seen.filter(({ type }) => type === 'response_started')).toHaveLength(1);

    await using late = await pair([hangsUpAfter('half an ans')], [says('from b')]);
    const heard: StreamEvent[] = [];
    await expect(late.routed.stream('r', HELLO, heard)).rejects.toMatchObject({
      code: 'model_failed',
      message: /^The answer of a broke off after it had begun/,
    });
    expect(deltasIn(heard)).toBe('half an ans');
    expect(late.asked()).toEqual([1, 0]);
    expect(late.routed.notes).toMatchObject([{ model: 'a', outcome: 'failed' }]);
  });

  it('5: the one that wants it may ask again after the first token', async () => {
    await using t = await pair([hangsUpAfter('half')], [says('from b')], { brokenStream: 'restart' });
    const error: unknown = await t.routed.stream('r', HELLO).catch((thrown: unknown) => thrown);
    expect(classifyModelFailure(error)).toMatchObject({ code: 'model_failed', retryable: true });
    expect(error).not.toBeInstanceOf(FinalModelError);
  });

  it('6: a rate limit is respected for as long as the server says, by all requests, and the next is asked at once', async () => {
    const limited = refuses(429, 'Rate limit reached', { headers: { 'retry-after': '20' } });
    await using t = await pair([limited, says('from a')], [says('from b')]);
    for (let n = 0; n < 3; n++) expect((await t.routed.ask('r', HELLO)).text).toBe('from b');
    expect(t.asked()).toEqual([1, 3]);
    t.routed.now += 20_000;
    expect((await t.routed.ask('r', HELLO)).text).toBe('from a');
    expect(t.routed.waits).toEqual([]);
  });

  it('6: when all are limited, the one that is back first is waited for', async () => {
    const limited = (seconds: string) => refuses(429, 'Rate limit reached', { headers: { 'retry-after': seconds } });
    await using t = await pair([limited('20'), says('from a')], [limited('5'), says('from b')]);
    expect((await t.routed.ask('r', HELLO)).text).toBe('from b');
    expect(t.routed.waits).toEqual([5_000]);
  });

  it('7: an unknown price is never 0: it comes last, and not at all under a budget', async () => {
    // $50 for a million tokens.
    const costs = { b: (tokens: number) => tokens * 50_000 };
    const config = { strategy: 'cost_optimized' };
    await using t = await pair([says('from a')], [refuses(400, 'not today'), says('from b')], config, costs);
    expect((await t.routed.ask('r', HELLO)).route?.attempts.map(({ model }) => model)).toEqual(['b', 'a']);

    const kept = { ...config, budget: { usdPerRequest: '0.01' } };
    await using under = await pair([says('from a')], [says('from b')], kept, costs);
    await expect(under.routed.ask('r', HELLO)).rejects.toMatchObject({
      code: 'route_impossible',
      message: /a: its price is unknown, .*; b: it would cost about \$0\.05\d*, and \$0\.01 is the budget/,
    });
    const short = requestOf({ modelSettings: { maxTokens: 100 } });
    expect((await under.routed.ask('r', short)).text).toBe('from b');
  });

  it('8: attempts that work at the same time are let out and settled one by one', async () => {
    await using t = await pair([refuses(500, 'ill')], [says('from b')], { retries: { attempts: 1 } });
    let [open, settled, most] = [0, 0, 0];
    const watch: AttemptWatch = {
      admit: async () => {
        most = Math.max(most, ++open);
        return {
          admitted: true,
          settle: async (usage, outcome) => {
            open--;
            settled += outcome === 'answered' ? (usage?.totalTokens ?? 0) : 0;
          },
        };
      },
    };
    const asked = Array.from({ length: 50 }, () => t.routed.ask('r', HELLO, { watch }));
    await Promise.all(asked);
    expect(open).toBe(0);
    expect(most).toBeGreaterThan(1);
    expect(settled).toBe(50 * 18);
  });

  it('10: an unknown model is not asked with every request, and not given up forever either', async () => {
    const missing = refuses(404, 'The model `m` does not exist', { type: 'model_not_found' });
    const config = { breaker: { failures: 2, minimumRequests: 2, cooldownMs: 30_000 } };
    await using t = await pair([missing, missing, says('from a')], [says('from b')], config);
    for (let n = 0; n < 5; n++) expect((await t.routed.ask('r', HELLO)).text).toBe('from b');
    expect(t.asked()).toEqual([2, 5]);
    t.routed.now += 30_000;
    expect((await t.routed.ask('r', HELLO)).text).toBe('from a');
  });

  it('10: a request that is too long goes to a larger context, and to no other', async () => {
    const tooLong = refuses(400, "This model's maximum context length is 8192 tokens.", {
      type: 'context_length_exceeded',
    });
    const candidates = [
      { model: 'a', contextTokens: 8_192 },
      { model: 'same', contextTokens: 8_192 },
    ];
    const config = { candidates, fallback: [{ model: 'b', contextTokens: 200_000 }] };
    await using t = await pair([tooLong], [says('from b')], config);
    const { text, route } = await t.routed.ask('r', HELLO);
    expect(text).toBe('from b');
    expect(route?.attempts).toEqual([
      { model: 'a', outcome: 'context_exceeded' },
      { model: 'same', outcome: 'unfit' },
      { model: 'b', outcome: 'answered' },
    ]);
    // That a request is too long is no fault of the model.
    for (let n = 0; n < 5; n++) await t.routed.ask('r', HELLO);
    expect(t.asked()[0]).toBe(6);
  });
});

describe('routers within routers', () => {
  const failing = functionModel('ill', () => {
    throw new Error('ill');
  });
  const well = functionModel('well', () => [textItem('well')]);

  it('answer for a candidate, and the route says through whom', async () => {
    const routed = new Routed(
      {
        top: { strategy: 'round_robin', candidates: ['ill'], fallback: ['router/ab'] },
        ab: { strategy: 'experiment', arms: [{ name: 'only', model: 'well', share: 1 }] },
      },
      { ill: failing, well },
    );
    const { text, route } = await routed.ask('top', HELLO);
    expect(text).toBe('well');
    expect(route).toEqual({
      ...{ router: 'top', strategy: 'round_robin', model: 'well' },
      attempts: [
        { model: 'ill', outcome: 'failed' },
        { model: 'well', outcome: 'answered' },
      ],
      through: [{ router: 'ab', strategy: 'experiment', arm: 'only' }],
    });
  });

  it('fail with the reasons of all, and are not tried twice', async () => {
    let asked = 0;
    const counted = functionModel('counted', () => {
      asked++;
      throw new Error('no more');
    });
    const routed = new Routed(
      {
        top: { strategy: 'round_robin', candidates: ['router/low'], retries: { attempts: 5 } },
        low: { strategy: 'round_robin', candidates: ['counted'] },
      },
      { counted },
    );
    await expect(routed.ask('top', HELLO)).rejects.toMatchObject({ message: /router\/low: .*counted: no more/ });
    expect(asked).toBe(1);
  });
});

it('an experiment keeps a run in its arm, goes to the fallback and never to the other arm', async () => {
  const models = { x: functionModel('x', () => [textItem('x')]), f: functionModel('f', () => [textItem('f')]) };
  const broken = functionModel('y', () => {
    throw new Error('ill');
  });
  const arms = [
    { name: 'a', model: 'x', share: 0.5 },
    { name: 'b', model: 'y', share: 0.5 },
  ];
  const routed = new Routed({ ab: { strategy: 'experiment', arms, fallback: ['f'] } }, { ...models, y: broken });
  const answered = { a: new Set<string>(), b: new Set<string>() };
  for (let n = 0; n < 50; n++) {
    const runs = await Promise.all([1, 2, 3].map(() => routed.ask('ab', HELLO, { runId: `run_${n}` })));
    const [arm] = new Set(runs.map(({ route }) => route?.arm));
    expect(new Set(runs.map(({ route }) => route?.arm)).size).toBe(1);
    for (const { text } of runs) answered[arm === 'a' ? 'a' : 'b'].add(text);
  }
  expect(answered).toEqual({ a: new Set(['x']), b: new Set(['f']) });
});

it('a task is that of the agent before that of the run, and providers are not told', async () => {
  const asked: unknown[] = [];
  const model = (name: string) =>
    functionModel(name, ({ modelSettings }) => {
      asked.push(modelSettings.providerData);
      return [textItem(name)];
    });
  const candidates = ['code', 'prose'].map((name) => ({ model: name, taskTypes: [name] }));
  const routed = new Routed(
    { r: { strategy: 'capability_based', candidates } },
    { code: model('code'), prose: model('prose') },
  );
  expect((await routed.ask('r', HELLO, { taskType: 'prose' })).text).toBe('prose');
  const providerData = { router: { taskType: 'code' }, seed: 7 };
  const request = requestOf({ modelSettings: { providerData } });
  expect((await routed.ask('r', request, { taskType: 'prose' })).text).toBe('code');
  expect(asked).toEqual([undefined, { seed: 7 }]);
});
