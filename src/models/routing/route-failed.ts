import type { ErrorView } from '../../core/errors/errors.js';
import type { RouteAttempt, RouteOutcome } from '../../core/routing/route.js';
import { failureText } from '../failures/failure-text.js';
import { FinalModelError } from '../failures/model-call-error.js';

/** Why a candidate did not answer. */
export interface CandidateReason {
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
