import type { Model, ModelRequest, Usage } from '@openai/agents';
import type { ErrorView } from '../../core/errors/errors.js';
import type { Route } from '../../core/routing/route.js';

/** Who is asked: `openai/gpt-5` is `gpt-5` of `openai`. A model object that an agent holds itself is one of the provider `object`. */
export interface AttemptTarget {
  readonly provider: string;
  readonly model: string;
}

/**
 * `answered`: whole, with what it used. `failed_before_sending`: the server was never reached. `rejected`: the server refused it
 * by a 4xx, 503 or 529, so that nothing was generated. `failed`: anything else; it may have been paid for, also a part of an answer.
 */
export type AttemptOutcome = 'answered' | 'failed_before_sending' | 'rejected' | 'failed';

/** Leave for one attempt. Settled exactly once, also when the request was given up. */
export interface Admission {
  readonly admitted: true;
  /** `usage` is that of the provider, with its details; null unless it answered. */
  settle(usage: Usage | null, outcome: AttemptOutcome): Promise<void>;
}

/** `error`: what the request fails with if no other model can be asked; null: `model_failed` with the reason. */
export interface Refusal {
  readonly admitted: false;
  readonly reason: string;
  readonly error: ErrorView | null;
}

/** What lets an attempt go out. It is asked for every attempt: of every candidate of a router, and for every retry. */
export interface AttemptWatch {
  /** Resolves to why it may not go out, then this candidate is passed over. What it throws ends the step, never the run. */
  admit(target: AttemptTarget, request: ModelRequest): Promise<Admission | Refusal>;
}

/** What a request is made for. */
export interface AttemptContext {
  /** Null: outside of a run. */
  readonly runId: string | null;
  /** What kind of task it is part of, for routers that choose by it. */
  readonly taskType: string | null;
  readonly watch: AttemptWatch;
}

/** A model for one request, whose attempts are watched. */
export interface AttemptedModel extends Model {
  /** After the answer: how it was chosen who answers. Null: there was nothing to choose. */
  readonly route: Route | null;
}

/** A model that makes attempts of its own for one request, and has each of them admitted. */
export interface AttemptingModel extends Model {
  attempt(context: AttemptContext): AttemptedModel;
}

export const isAttempting = (model: Model): model is AttemptingModel =>
  'attempt' in model && typeof model.attempt === 'function';

/** Lets everything go out. */
export const UNWATCHED: AttemptWatch = {
  admit: async () => ({ admitted: true, settle: async () => undefined }),
};

/** A watch that could not say or keep what it must: a trouble of ours, never of the model. */
export class AttemptWatchError extends Error {
  constructor(cause: unknown) {
    super('A model call could not be accounted for.', { cause });
    this.name = 'AttemptWatchError';
  }
}
