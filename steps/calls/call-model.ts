import pRetry, { AbortError } from 'p-retry';
import type { ExhaustedBudget } from '../../src/core/budgets/budget.js';
import type { AnswerCost, Charge } from '../../src/core/budgets/charge.js';
import type { ErrorView } from '../../src/core/errors/errors.js';
import type { JsonObject } from '../../src/core/json.js';
import type { Route } from '../../src/core/routing/route.js';
import type { Usage } from '../../src/core/runs/run.js';
import { unlessAborted } from '../../src/models/providers/abort.js';
import { AttemptWatchError } from '../../src/models/providers/model-attempt.js';

/** Why a step gave up without an outcome: the run was cancelled, its time is over, or it made no progress. */
export type HaltReason = 'cancelled' | 'limit_wall_time' | 'stalled';
export type Halt = { readonly type: 'halted'; readonly why: HaltReason };

export interface ModelAnswer {
  readonly type: 'answer';
  readonly responseId: string | null;
  readonly output: readonly JsonObject[];
  readonly usage: Usage;
  /** What the SDK keeps of the response beside its output; it goes back to the SDK as it came. */
  readonly rest: JsonObject;
  /** Why the answer ended; not there: the model did not say. */
  readonly finishReason?: string;
  /** How a router chose who answers: a replay does not choose again. Not there: there was nothing to choose. */
  readonly route?: Route;
  /** Not there in what was recorded before there were prices. */
  readonly cost?: AnswerCost;
  /** What is to be kept with the answer of what was paid for it. */
  readonly charges?: readonly Charge[];
}

export type ModelResult =
  | ModelAnswer
  | { readonly type: 'failed'; readonly error: ErrorView; readonly charges?: readonly Charge[] }
  /** No budget has room for it: nothing was sent. */
  | { readonly type: 'exhausted'; readonly budget: ExhaustedBudget; readonly error: ErrorView }
  | Halt;

export interface ModelFailure {
  readonly error: ErrorView;
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;
}

const ATTEMPTS = 4;
const LONGEST_WAIT_MS = 30_000;

/**
 * Calls a model once, again after failures that pass (4 attempts, exponential waits of at most 30 s, `retry-after` kept).
 * Never throws for what the model does: a failure is a result, so that a replay sees the same. What could not be accounted for is
 * no failure of the model, and is thrown.
 */
export async function callModel(
  ask: (signal: AbortSignal) => Promise<ModelAnswer>,
  classify: (error: unknown) => ModelFailure,
  signal: AbortSignal,
): Promise<ModelResult> {
  try {
    return await pRetry(
      async () => {
        try {
          return await unlessAborted(ask(signal), signal);
        } catch (error) {
          if (error instanceof AttemptWatchError) throw new AbortError(error);
          const failure = classify(error);
          const wait = failure.retryAfterMs ?? 0;
          if (!failure.retryable || signal.aborted || wait > LONGEST_WAIT_MS) throw new AbortError(asError(error));
          if (wait > 0) await pause(wait, signal);
          throw asError(error);
        }
      },
      { retries: ATTEMPTS - 1, minTimeout: 500, maxTimeout: LONGEST_WAIT_MS, randomize: true, signal },
    );
  } catch (error) {
    if (error instanceof AttemptWatchError) throw error.cause;
    return signal.aborted ? haltOf(signal) : { type: 'failed', error: classify(error).error };
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** What an aborted signal of a run says. Its reason is set by the code that aborts: see the registry of running segments. */
export const haltOf = (signal: AbortSignal): Halt => ({
  type: 'halted',
  why: signal.reason === 'limit_wall_time' || signal.reason === 'stalled' ? signal.reason : 'cancelled',
});

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done);
  });
