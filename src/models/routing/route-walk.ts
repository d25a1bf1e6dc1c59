import type { ErrorView } from '../../core/errors/errors.js';
import { KEPT_ATTEMPTS, type Route, type RouteAttempt, type RouteOutcome } from '../../core/routing/route.js';
import {
  type AttemptFailure,
  backoffMs,
  type CandidateProgress,
  consequenceOf,
  type NextAttempt,
  nextAttempt,
} from '../../core/routing/route-failure.js';
import type { Candidate, RouterPlan } from '../../core/routing/router-plan.js';
import { failureText } from '../failures/failure-text.js';
import { FinalModelError } from '../failures/model-call-error.js';
import type { Refusal } from '../providers/model-attempt.js';

/** Why a candidate did not answer. */
interface CandidateReason {
  readonly model: string;
  readonly outcome: RouteOutcome;
  readonly reason: string;
}

const REASON_CHARS = 300;

/** A request that no candidate of a router answered, with the last reason of each. */
export class RouteFailed extends FinalModelError {
  readonly attempts: readonly RouteAttempt[];
  /** What kept a candidate from being asked that could have answered, such as a budget; null: nothing did. */
  readonly refusal: ErrorView | null;

  constructor(
    router: string,
    reasons: readonly CandidateReason[],
    attempts: readonly RouteAttempt[],
    refusal: ErrorView | null,
  ) {
    const said = reasons.map(({ model, reason }) => `${model}: ${bounded(reason)}`).join('; ');
    const impossible = reasons.every(({ outcome }) => outcome === 'unfit');
    const code = impossible ? 'route_impossible' : isRefused(reasons) ? 'model_refused' : 'route_failed';
    const what = impossible ? 'can serve the request' : 'answered';
    const message = failureText(`No model of the router ${router} ${what}. ${said}.`);
    super(
      refusal?.code ?? code,
      refusal === null ? message : failureText(`${refusal.message} ${message}`),
      refusal === null ? {} : { hint: refusal.hint },
    );
    this.attempts = attempts;
    this.refusal = refusal;
  }
}

/** What no later request of the kind would meet otherwise. */
const FOR_GOOD: ReadonlySet<RouteOutcome> = new Set<RouteOutcome>(['unfit', 'rejected', 'context_exceeded']);

const isRefused = (reasons: readonly CandidateReason[]): boolean =>
  reasons.every(({ outcome }) => FOR_GOOD.has(outcome));

const bounded = (text: string): string => {
  const plain = text.replace(/[.\s]+$/, '');
  return plain.length <= REASON_CHARS ? plain : `${plain.slice(0, REASON_CHARS - 1).toWellFormed()}…`;
};

/** What the failure of a router says of it as a candidate. */
const ROUTER_OUTCOMES: ReadonlyMap<string, RouteOutcome> = new Map([
  ['model_refused', 'rejected'],
  ['route_impossible', 'unfit'],
]);

/** The way of one request through the candidates of a router. */
export class RouteWalk {
  readonly #plan: RouterPlan;
  readonly #arm: string | null;
  readonly #random: () => number;
  readonly #progress = new Map<number, CandidateProgress>();
  readonly #reasons = new Map<number, CandidateReason>();
  readonly #attempts: RouteAttempt[] = [];
  #order: readonly number[] = [];
  #refusal: ErrorView | null = null;
  #waitLeftMs: number;

  constructor(plan: RouterPlan, arm: string | null, random: () => number) {
    this.#plan = plan;
    this.#arm = arm;
    this.#random = random;
    this.#waitLeftMs = plan.retries.maxWaitMs;
  }

  /** Begins with the places that are asked, in their order; `restingUntil` are those of them that are to be asked last. */
  begin(order: readonly number[], restingUntil: ReadonlyMap<number, number>): void {
    this.#order = order;
    for (const place of order) {
      const readyAt = restingUntil.get(place);
      const { group } = this.candidateAt(place);
      this.#progress.set(place, { group, tries: 0, readyAt: readyAt ?? 0, last: readyAt !== undefined, out: false });
    }
  }

  candidateAt(place: number): Candidate {
    const candidate = this.#plan.candidates[place];
    if (candidate === undefined) throw new Error(`A router has no candidate ${place}.`);
    return candidate;
  }

  next(now: number): NextAttempt {
    const { attempts } = this.#plan.retries;
    const next = nextAttempt(this.#order, this.#progress, { attempts, now, waitLeftMs: this.#waitLeftMs });
    if (next.type === 'wait') this.#waitLeftMs -= next.ms;
    return next;
  }

  unfit(place: number, reason: string): void {
    this.#note(place, 'unfit', reason);
  }

  rests(place: number, until: number, why: string): void {
    this.#note(place, 'resting', `it rests: ${why}`);
    this.#move(place, { readyAt: until, last: true });
  }

  refused(place: number, { error, reason }: Refusal): void {
    this.#refusal ??= error;
    this.#note(place, 'refused', reason);
    this.#move(place, { out: true });
  }

  failed(place: number, outcome: RouteOutcome, failure: AttemptFailure, now: number): void {
    this.#note(place, outcome, failure.message);
    const tries = (this.#progress.get(place)?.tries ?? 0) + 1;
    const consequence = consequenceOf(outcome, failure);
    const backoff = backoffMs(this.#plan.retries.minWaitMs, tries, this.#random());
    const readyAt = now + Math.max(failure.retryAfterMs ?? 0, backoff);
    this.#move(place, { tries, readyAt, out: consequence === 'out', last: consequence === 'last' });
    if (outcome === 'context_exceeded') this.#onlyLarger(place);
  }

  /** A router among the candidates has failed for good; what it tried is part of this way. */
  routerFailed(place: number, { attempts, refusal, message, code }: RouteFailed): void {
    this.#refusal ??= refusal;
    this.#attempts.push(...attempts);
    this.#reasons.set(place, {
      model: this.candidateAt(place).model,
      outcome: ROUTER_OUTCOMES.get(code) ?? 'failed',
      reason: message,
    });
    this.#move(place, { out: true });
  }

  failure(): RouteFailed {
    const reasons = [...this.#reasons].sort(([a], [b]) => a - b).map(([, reason]) => reason);
    return new RouteFailed(this.#plan.name, reasons, this.#attempts.slice(-KEPT_ATTEMPTS), this.#refusal);
  }

  /** `inner`: how the router among the candidates chose that answered. */
  route(place: number, inner: Route | null): Route {
    const { name: router, strategy } = this.#plan;
    const { model } = this.candidateAt(place);
    const own = inner === null ? [{ model, outcome: 'answered' as const }] : inner.attempts;
    return {
      ...{ router, strategy, model: inner?.model ?? model },
      ...(this.#arm === null ? {} : { arm: this.#arm }),
      attempts: [...this.#attempts, ...own].slice(-KEPT_ATTEMPTS),
      ...(inner === null ? {} : { through: [choiceOf(inner), ...(inner.through ?? [])] }),
    };
  }

  #onlyLarger(place: number): void {
    const { contextTokens: least, model } = this.candidateAt(place);
    if (least === null) return;
    for (const other of this.#order) {
      const { contextTokens } = this.candidateAt(other);
      if (other === place || contextTokens === null || contextTokens > least || this.#progress.get(other)?.out)
        continue;
      this.#note(other, 'unfit', `the request was too long for ${model}, and it takes no more`);
      this.#move(other, { out: true });
    }
  }

  #note(place: number, outcome: RouteOutcome, reason: string): void {
    const { model } = this.candidateAt(place);
    this.#attempts.push({ model, outcome });
    this.#reasons.set(place, { model, outcome, reason });
  }

  #move(place: number, change: Partial<CandidateProgress>): void {
    const before = this.#progress.get(place);
    if (before !== undefined) this.#progress.set(place, { ...before, ...change });
  }
}

const choiceOf = ({ router, strategy, arm }: Route): NonNullable<Route['through']>[number] => ({
  ...{ router, strategy },
  ...(arm === undefined ? {} : { arm }),
});
