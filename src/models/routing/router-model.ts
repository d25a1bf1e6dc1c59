import type { Model, ModelProvider, ModelRequest, ModelResponse, StreamEvent } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import type { Route, RouteOutcome } from '../../core/routing/route.js';
import { breakerResultOf, outcomeOf } from '../../core/routing/route-failure.js';
import { needOf } from '../../core/routing/route-need.js';
import { armOf, type CostOf, countsTokens, orderOf, unfitness } from '../../core/routing/route-order.js';
import type { RouterPlan } from '../../core/routing/router-plan.js';
import { FinalModelError } from '../failures/model-call-error.js';
import { attemptFailureOf } from '../failures/model-failure.js';
import { throwIfAborted } from '../providers/abort.js';
import {
  type AttemptContext,
  type AttemptedModel,
  type AttemptingModel,
  AttemptWatchError,
  isAttempting,
  UNWATCHED,
} from '../providers/model-attempt.js';
import { targetOf } from '../providers/multi-model-provider.js';
import { AttemptRefused, attemptOf } from '../providers/single-attempt.js';
import { AttemptClock, firstToken } from './attempt-limits.js';
import { RouteFailed, RouteWalk } from './route-walk.js';
import { RouterState } from './router-state.js';

/**
 * A request that the client of the `openai` package does not send again on its own: the one that asks sees the first failure. Said
 * by a member that the SDK has for its own retries and does not declare; a model that does not know it is not disturbed.
 */
const withoutRetries = (request: ModelRequest): ModelRequest =>
  Object.assign({ ...request }, { _internal: { runnerManagedRetry: true } });

type Ask<T> = (model: Model, request: ModelRequest) => Promise<T>;

/** An attempt that goes well so far. */
interface StartedAttempt<T> {
  readonly value: T;
  /** Says how it ended: without an error, with one that is thrown in its place, or left before its end. */
  readonly ended: () => void;
  readonly broke: (error: unknown) => unknown;
  readonly left: () => void;
}

/**
 * One request at a router: asks the candidates until one answers. Throws RouteFailed with the reason of each, an AbortError when
 * the signal fires, and what breaks a streamed answer whose first token is out.
 */
class RoutedAttempt implements AttemptedModel {
  readonly #plan: RouterPlan;
  readonly #state: RouterState;
  readonly #router: RouterContext;
  readonly #context: AttemptContext;
  #route: Route | null = null;

  constructor(plan: RouterPlan, state: RouterState, router: RouterContext, context: AttemptContext) {
    this.#plan = plan;
    this.#state = state;
    this.#router = router;
    this.#context = context;
  }

  get route(): Route | null {
    return this.#route;
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    const { value, ended } = await this.#firstThat(request, (model, asked) => model.getResponse(asked));
    ended();
    return value;
  }

  async *getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    const { value, ended, broke, left } = await this.#firstThat(request, firstToken);
    const { held, rest } = value;
    try {
      yield* held;
      for (;;) {
        const { done, value: event } = await rest.next().catch((error: unknown) => {
          throw broke(error);
        });
        if (done === true) break;
        yield event;
      }
      ended();
    } finally {
      left();
      void rest.return?.().catch(() => undefined);
    }
  }

  /** Asks the candidates in their order until one gives what is asked for. */
  async #firstThat<T>(request: ModelRequest, ask: Ask<T>): Promise<StartedAttempt<T>> {
    const walk = this.#begin(request);
    for (;;) {
      throwIfAborted(request.signal);
      const next = walk.next(this.#router.now());
      if (next.type === 'over') throw walk.failure();
      if (next.type === 'wait') {
        await this.#router.wait(next.ms, request.signal);
        continue;
      }
      const answer = this.#state.begin(next.place);
      if (!answer.lets) {
        walk.rests(next.place, answer.until, answer.why);
        continue;
      }
      const begun = await this.#try(walk, { place: next.place, probe: answer.probe }, request, ask);
      if (begun !== null) return begun;
    }
  }

  /** Decides who can be asked, and in which order. */
  #begin(request: ModelRequest): RouteWalk {
    const { random, costOf } = this.#router;
    const { candidates, arms, strategy } = this.#plan;
    const need = needOf(request, this.#context.taskType, countsTokens(this.#plan));
    const arm = strategy === 'experiment' ? armOf(this.#plan, this.#context.runId, random) : -1;
    const walk = new RouteWalk(this.#plan, arms[arm]?.name ?? null, random);
    const free: number[] = [];
    const resting = new Map<number, number>();
    for (const [place, candidate] of candidates.entries()) {
      if (strategy === 'experiment' && candidate.group === 0 && place !== arm) continue;
      const why = unfitness(candidate, need, this.#plan, costOf);
      if (why !== null) {
        walk.unfit(place, why);
        continue;
      }
      const answer = this.#state.look(place);
      if (answer.lets) free.push(place);
      else {
        walk.rests(place, answer.until, answer.why);
        resting.set(place, answer.until);
      }
    }
    const input = { need, costOf, random, lastFirst: this.#state.lastFirst };
    const order = [...orderOf(this.#plan, free, input), ...resting.keys()];
    const [first] = order;
    if (first !== undefined) this.#state.markFirst(first);
    walk.begin(order, resting);
    return walk;
  }

  /** One attempt. Null: it failed, or was not let out, and the next is to be asked. */
  async #try<T>(
    walk: RouteWalk,
    { place, probe }: { readonly place: number; readonly probe: boolean },
    request: ModelRequest,
    ask: Ask<T>,
  ): Promise<StartedAttempt<T> | null> {
    const { models, now } = this.#router;
    const candidate = walk.candidateAt(place);
    const startedAt = now();
    const clock = new AttemptClock(request.signal);
    let open = true;
    const end = (result: Parameters<RouterState['end']>[1]): void => {
      if (open) this.#state.end(place, result, probe);
      open = false;
      clock.end();
    };
    /** What failed, and whether it is the candidate's; null: the request is over. */
    const judge = (error: unknown) => {
      const isOver = error instanceof AttemptWatchError || request.signal?.aborted === true;
      if (isOver || error instanceof FinalModelError) {
        end({ type: 'unknown' });
        return null;
      }
      const failure = attemptFailureOf(error, clock.isOver);
      const outcome = outcomeOf(failure);
      end(breakerResultOf(outcome, failure, this.#plan.breaker));
      const { status } = failure;
      const about = { router: this.#plan.name, model: candidate.model, outcome, status, runId: this.#context.runId };
      this.#router.onFailed({ ...about, ms: Math.round(now() - startedAt) });
      return { failure, outcome };
    };
    try {
      const model = await models.getModel(candidate.model);
      const attempt = attemptOf(model, targetOf(candidate.model), this.#context);
      // A router keeps the times of its own candidates.
      if (!isAttempting(model)) clock.bound(candidate.timeoutMs);
      const { signal } = clock;
      const asked = isAttempting(model) ? request : withoutRetries(withoutRouterData(request));
      const value = await ask(attempt, { ...asked, signal });
      clock.unbound();
      this.#route = walk.route(place, attempt.route);
      return {
        value,
        ended: () => end({ type: 'works' }),
        left: () => end({ type: 'unknown' }),
        broke: (error) => this.#brokenOff(candidate.model, error, judge(error)?.failure.message ?? null),
      };
    } catch (error) {
      const late = clock.isOver && !(error instanceof AttemptWatchError);
      const judged = judge(late ? new Error(`It took longer than ${candidate.timeoutMs} ms.`) : error);
      if (judged !== null) walk.failed(place, judged.outcome, judged.failure, now());
      else if (error instanceof AttemptRefused) walk.refused(place, error.refusal);
      else if (error instanceof RouteFailed) walk.routerFailed(place, error);
      else throw error;
      return null;
    }
  }

  /** The error of an answer that broke off when a part of it was out. Only who is told to may ask for it again. */
  #brokenOff(model: string, error: unknown, message: string | null): unknown {
    if (message === null || this.#plan.brokenStream === 'restart') return error;
    return new FinalModelError('model_failed', `The answer of ${model} broke off after it had begun: ${message}`, {
      cause: error,
    });
  }
}

/** `providerData.router` is for routers alone: providers refuse what they do not know. */
function withoutRouterData(request: ModelRequest): ModelRequest {
  const { providerData } = request.modelSettings;
  if (providerData === undefined || !('router' in providerData)) return request;
  const { router: _router, ...rest } = providerData;
  return { ...request, modelSettings: { ...request.modelSettings, providerData: rest } };
}

/** An attempt that did not lead to an answer, for the log of the process. Without what was asked and answered. */
export interface AttemptNote {
  readonly router: string;
  readonly model: string;
  readonly outcome: RouteOutcome;
  readonly status: number | null;
  readonly ms: number;
  readonly runId: string | null;
}

/** What a router works with. */
interface RouterContext {
  /** Gives the models of the candidates. */
  readonly models: ModelProvider;
  readonly costOf: CostOf;
  /** Milliseconds. */
  readonly now: () => number;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  /** Waits; throws an AbortError when the signal fires. */
  readonly wait: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
  readonly onFailed: (note: AttemptNote) => void;
}

const NO_RUN: AttemptContext = { runId: null, taskType: null, watch: UNWATCHED };

/** A router as a model. What it knows of its candidates is this process's own, and lives as long as it. */
export class RouterModel implements AttemptingModel {
  readonly #plan: RouterPlan;
  readonly #router: RouterContext;
  readonly #state: RouterState;

  constructor(plan: RouterPlan, context: RouterContext) {
    this.#plan = plan;
    this.#router = context;
    this.#state = new RouterState(plan.candidates.length, plan.breaker, context.now);
  }

  attempt(context: AttemptContext): AttemptedModel {
    return new RoutedAttempt(this.#plan, this.#state, this.#router, context);
  }

  getResponse(request: ModelRequest): Promise<ModelResponse> {
    return this.attempt(NO_RUN).getResponse(request);
  }

  getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    return this.attempt(NO_RUN).getStreamedResponse(request);
  }
}

/** The routers of a configuration, as the provider of `router/<name>`. Each is made once, with what it knows of its candidates. */
export class RouterProvider implements ModelProvider {
  readonly #routers: ReadonlyMap<string, RouterModel>;

  constructor(plans: readonly RouterPlan[], context: RouterContext) {
    this.#routers = new Map(plans.map((plan) => [plan.name, new RouterModel(plan, context)]));
  }

  /** Throws `model_unknown` for a name that no router has. */
  async getModel(modelName = ''): Promise<Model> {
    const router = this.#routers.get(modelName);
    if (router !== undefined) return router;
    const known = [...this.#routers.keys()].join(', ') || 'none';
    throw new HoldfastError('model_unknown', `There is no router ${JSON.stringify(modelName)}. Known: ${known}.`, {
      hint: 'Use one of the routers of holdfast.config.ts, or add it to `routers`.',
    });
  }
}
