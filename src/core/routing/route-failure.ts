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
type Consequence =
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

/** Where one request stands with one candidate. */
export interface CandidateProgress {
  readonly group: number;
  readonly tries: number;
  /** It is not asked before. */
  readonly readyAt: number;
  /** It is asked only when no other is left. */
  readonly last: boolean;
  readonly out: boolean;
}

export type NextAttempt =
  | { readonly type: 'try'; readonly place: number }
  | { readonly type: 'wait'; readonly ms: number }
  | { readonly type: 'over' };

/**
 * Who is asked next: within a group those that are ready, in their order, who was asked less often first; then, after a wait, those that
 * failed and may do better; then the next group; and in the end those that asked for time. `places` are those of the candidates, in their order;
 * `waitLeftMs` is how long the request may still wait.
 */
export function nextAttempt(
  places: readonly number[],
  progress: ReadonlyMap<number, CandidateProgress>,
  { attempts, now, waitLeftMs }: { readonly attempts: number; readonly now: number; readonly waitLeftMs: number },
): NextAttempt {
  const open = places.flatMap((place) => {
    const one = progress.get(place);
    return one === undefined || one.out || one.tries >= attempts ? [] : [{ place, ...one }];
  });
  const prompt = open.filter(({ last }) => !last);
  const groups = [...new Set(prompt.map(({ group }) => group))].sort((a, b) => a - b);
  for (const members of [...groups.map((group) => prompt.filter((one) => one.group === group)), open]) {
    const [ready] = members.filter(({ readyAt }) => readyAt <= now).sort((a, b) => a.tries - b.tries);
    if (ready !== undefined) return { type: 'try', place: ready.place };
    const ms = Math.min(...members.map(({ readyAt }) => readyAt)) - now;
    if (ms <= waitLeftMs) return { type: 'wait', ms };
  }
  return { type: 'over' };
}

/** How long before a candidate is asked again: doubles with each try; `random` in [0, 1) spreads it over its upper half. */
export const backoffMs = (minWaitMs: number, tries: number, random: number): number =>
  Math.round(minWaitMs * 2 ** (tries - 1) * (0.5 + random / 2));
