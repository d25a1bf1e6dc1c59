import type { Model, ModelRequest, StreamEvent, Usage } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { ModelCallError } from '../../src/models/failures/model-call-error.js';
import { functionModel } from '../../src/models/providers/function-model.js';
import { type AttemptOutcome, type AttemptWatch, AttemptWatchError } from '../../src/models/providers/model-attempt.js';
import { attemptOf } from '../../src/models/providers/single-attempt.js';
import { requestOf, textItem } from './requests.js';

const target = { provider: 'test', model: 'm' };

/** A watch that keeps what it was told. */
function watching(refusal: Parameters<typeof refuse>[0] | null = null) {
  const told: (readonly [AttemptOutcome, number | null])[] = [];
  const watch: AttemptWatch = {
    admit: async () =>
      refusal !== null
        ? refuse(refusal)
        : {
            admitted: true,
            settle: async (usage: Usage | null, outcome) => {
              told.push([outcome, usage?.totalTokens ?? null]);
            },
          },
  };
  return { told, context: { runId: null, taskType: null, watch } };
}

const refuse = (error: HoldfastError | 'no error') => ({
  admitted: false as const,
  reason: 'the budget is used up',
  error: error instanceof HoldfastError ? error.view() : null,
});

const answering = functionModel('m', () => [textItem('hello')]);
const failing = (error: unknown): Model => ({
  getResponse: () => Promise.reject(error),
  getStreamedResponse: async function* (): AsyncIterable<StreamEvent> {
    yield await Promise.reject(error);
  },
});
const stuck: Model = {
  getResponse: () => new Promise(() => undefined),
  getStreamedResponse: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) }),
};
const cut: Model = {
  ...stuck,
  getStreamedResponse: async function* () {
    yield { type: 'response_started' };
    yield { type: 'output_text_delta', delta: 'hel' };
    throw new ModelCallError('model_failed', 'it hung up', { retryable: true, statusCode: 400 });
  },
};

type Way = 'whole' | 'streamed';
async function ask(way: Way, model: Model, request: ModelRequest): Promise<void> {
  if (way === 'whole') await model.getResponse(request);
  else for await (const _ of model.getStreamedResponse(request));
}

describe.each<Way>(['whole', 'streamed'])('one attempt, %s', (way) => {
  it('is settled once with what was used', async () => {
    const { told, context } = watching();
    await ask(way, attemptOf(answering, target, context), requestOf({}));
    expect(told).toEqual([['answered', expect.any(Number)]]);
    expect(told[0]?.[1]).toBeGreaterThan(0);
  });

  it.each<[AttemptOutcome, unknown]>([
    ['rejected', Object.assign(new Error('no'), { status: 400 })],
    ['rejected', new ModelCallError('model_failed', 'slow down', { retryable: true, statusCode: 429 })],
    ['rejected', new ModelCallError('model_failed', 'overloaded', { retryable: true, statusCode: 503 })],
    ['failed', Object.assign(new Error('oops'), { status: 502 })],
    ['failed', new TypeError('terminated')],
    ['failed_before_sending', Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } })],
    ['failed_before_sending', new HoldfastError('model_unknown', 'no key')],
  ])('is settled as %s after %s', async (outcome, error) => {
    const { told, context } = watching();
    await expect(ask(way, attemptOf(failing(error), target, context), requestOf({}))).rejects.toBe(error);
    expect(told).toEqual([[outcome, null]]);
  });

  it('is settled when its model ignores that it was given up', async () => {
    const { told, context } = watching();
    const signal = AbortSignal.timeout(5);
    const asked = ask(way, attemptOf(stuck, target, context), requestOf({ signal }));
    await expect(asked).rejects.toMatchObject({ name: 'AbortError' });
    expect(told).toEqual([['failed', null]]);
  });

  it('does not go out without leave, and fails with what the watch says', async () => {
    const error = new HoldfastError('limit_tokens', 'The budget of the tenant is used up.', { hint: 'Raise it.' });
    const { context } = watching(error);
    const asked = ask(way, attemptOf(failing(new Error('it was asked')), target, context), requestOf({}));
    await expect(asked).rejects.toMatchObject({ code: 'limit_tokens', message: error.message, hint: 'Raise it.' });
    const bare = ask(way, attemptOf(answering, target, watching('no error').context), requestOf({}));
    await expect(bare).rejects.toMatchObject({ code: 'model_failed', message: /test\/m .* budget is used up/ });
  });

  it('tells a watch that fails from a model that fails', async () => {
    const trouble = new Error('the database is away');
    const mute: AttemptWatch = { admit: () => Promise.reject(trouble) };
    const forgetful: AttemptWatch = {
      admit: async () => ({ admitted: true, settle: () => Promise.reject(trouble) }),
    };
    for (const watch of [mute, forgetful]) {
      const asked = ask(way, attemptOf(answering, target, { ...watching().context, watch }), requestOf({}));
      await expect(asked).rejects.toSatisfy((error) => error instanceof AttemptWatchError && error.cause === trouble);
    }
  });
});

it('a stream that was cut or left is settled as failed, whatever status is said', async () => {
  const { told, context } = watching();
  await expect(ask('streamed', attemptOf(cut, target, context), requestOf({}))).rejects.toThrow('it hung up');
  for await (const _ of attemptOf(cut, target, context).getStreamedResponse(requestOf({}))) break;
  expect(told).toEqual([
    ['failed', null],
    ['failed', null],
  ]);
});
