import type { ModelProvider, ModelRequest, ModelResponse, StreamEvent } from '@openai/agents';
import type { RouteOutcome } from '../../core/routing/route.js';
import type { CostOf } from '../../core/routing/route-fit.js';
import type { RouterPlan } from '../../core/routing/router-plan.js';
import {
  type AttemptContext,
  type AttemptedModel,
  type AttemptingModel,
  UNWATCHED,
} from '../providers/model-attempt.js';
import { RoutedAttempt } from './routed-attempt.js';
import { RouterState } from './router-state.js';

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
export interface RouterWorld {
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
  readonly #world: RouterWorld;
  readonly #state: RouterState;

  constructor(plan: RouterPlan, world: RouterWorld) {
    this.#plan = plan;
    this.#world = world;
    this.#state = new RouterState(plan.candidates.length, plan.breaker, world.now);
  }

  attempt(context: AttemptContext): AttemptedModel {
    return new RoutedAttempt(this.#plan, this.#state, this.#world, context);
  }

  getResponse(request: ModelRequest): Promise<ModelResponse> {
    return this.attempt(NO_RUN).getResponse(request);
  }

  getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    return this.attempt(NO_RUN).getStreamedResponse(request);
  }
}
