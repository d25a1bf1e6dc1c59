import type { BreakerResult } from './breaker.js';
import type { RouteOutcome } from './route.js';
import type { BreakerRules } from './router-plan.js';

/** A failed attempt, as far as it can be told from its error. */
export interface AttemptFailure {
  /** HTTP; null: there was no answer with one. */
  readonly status: number | null;
  /** Codes and types of the error that are known to the provider. */
  readonly codes: readonly string[];
  readonly message: string;
  /** Whether the same attempt may succeed later. */
  readonly passes: boolean;
  readonly retryAfterMs: number | null;
  readonly timedOut: boolean;
  /** It never was a request: a key is missing, or the adapter cannot say what is asked for. */
  readonly unsent: boolean;
}

const EXHAUSTED_CODES: ReadonlySet<string> = new Set(['insufficient_quota', 'billing_hard_limit_reached']);
/** Anthropic says it by 400, others by 402 or 403. */
const EXHAUSTED =
  /specified api usage limits|credit balance is too low|insufficient (?:credits?|balance|funds)|(?:spend(?:ing)?|billing)(?: hard)? limit/i;
const CONTEXT_CODES: ReadonlySet<string> = new Set(['context_length_exceeded', 'exceed_context_size_error']);
const CONTEXT =
  /context[ _-]?(?:length|window|size)|maximum context|prompt is too long|input token count|too many input tokens|reduce the length of (?:the|your) (?:messages|prompt|input)/i;
/** Servers of local models say it by 500. */
const CONTEXT_STATUS: ReadonlySet<number | null> = new Set([400, 413, 422, 500]);

export function outcomeOf({ status, codes, message, timedOut, passes, unsent }: AttemptFailure): RouteOutcome {
  if (unsent) return 'rejected';
  if (timedOut || status === 408) return 'timeout';
  if (status === 402 || codes.some((code) => EXHAUSTED_CODES.has(code))) return 'exhausted';
  if ((status === 400 || status === 403) && EXHAUSTED.test(message)) return 'exhausted';
  if (status === 429) return 'rate_limited';
  if (codes.some((code) => CONTEXT_CODES.has(code)) || (CONTEXT_STATUS.has(status) && CONTEXT.test(message)))
    return 'context_exceeded';
  return passes || status === null || status >= 500 ? 'failed' : 'rejected';
}

/** What becomes of the candidate, in this request. */
export type Consequence =
  /** It is not asked again. */
  | 'out'
  /** It is asked again after a wait, before the fallback. */
  | 'again'
  /** It is asked again only if no other answers. */
  | 'last';

export function consequenceOf(outcome: RouteOutcome, { passes, retryAfterMs }: AttemptFailure): Consequence {
  if (outcome === 'rate_limited') return 'last';
  if (outcome === 'exhausted' || outcome === 'context_exceeded' || outcome === 'rejected' || !passes) return 'out';
  return retryAfterMs === null ? 'again' : 'last';
}

/** What the attempt says of the candidate, for other requests. */
export function breakerResultOf(outcome: RouteOutcome, failure: AttemptFailure, rules: BreakerRules): BreakerResult {
  const { status, retryAfterMs, unsent } = failure;
  if (outcome === 'exhausted') return { type: 'fails', exhausted: true, waitMs: retryAfterMs };
  if (outcome === 'context_exceeded') return { type: 'works' };
  const counts = status === null ? !unsent : rules.statuses.has(status);
  if (counts) return { type: 'fails', exhausted: false, waitMs: retryAfterMs };
  return unsent ? { type: 'unknown' } : { type: 'works' };
}
