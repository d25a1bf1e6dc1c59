import type { BreakerRules } from './router-plan.js';

/** What happened at one candidate lately. Times are milliseconds of one clock. */
export interface BreakerState {
  /** The attempts of the window, in parts of a tenth of it. */
  readonly parts: readonly { readonly number: number; readonly attempts: number; readonly failures: number }[];
  /** It is open until then, and half open after that; null: it is closed. */
  readonly openUntil: number | null;
  /** Its server asked for no attempts before. */
  readonly askedUntil: number;
  /** While it is half open: when the attempt that tries it counts as lost; null: no one tries it. */
  readonly probeUntil: number | null;
  /** Why it is open. */
  readonly why: 'failures' | 'exhausted';
}

export const CLOSED: BreakerState = { parts: [], openUntil: null, askedUntil: 0, probeUntil: null, why: 'failures' };

/** `probe`: the one attempt that a half-open breaker makes to find out. `until`: not before. */
export type BreakerAnswer =
  | { readonly lets: true; readonly probe: boolean }
  | { readonly lets: false; readonly until: number; readonly why: string };

const PARTS = 10;

/** Whether an attempt may go out. One that does while the breaker is half open must be begun with `probing`. */
export function askBreaker(state: BreakerState, now: number): BreakerAnswer {
  const { openUntil, askedUntil, probeUntil } = state;
  const rests = Math.max(openUntil ?? 0, askedUntil);
  if (now < rests)
    return {
      lets: false,
      until: rests,
      why: now < askedUntil && askedUntil === rests ? 'its server asked to wait' : reasonOf(state),
    };
  if (openUntil === null) return { lets: true, probe: false };
  if (probeUntil !== null && now < probeUntil)
    return { lets: false, until: probeUntil, why: 'another request is finding out whether it works again' };
  return { lets: true, probe: true };
}

const reasonOf = ({ why }: BreakerState): string =>
  why === 'exhausted' ? 'what its provider lets be spent is used up' : 'it failed too often';

/** The state while one attempt finds out. It counts as lost after the cooldown, so that others may. */
export const probing = (state: BreakerState, { cooldownMs }: BreakerRules, now: number): BreakerState => ({
  ...state,
  probeUntil: now + cooldownMs,
});

export type BreakerResult =
  /** It gave an answer, or an error that is the request's own. */
  | { readonly type: 'works' }
  | { readonly type: 'fails'; readonly exhausted: boolean; readonly waitMs: number | null }
  /** It was given up from outside, which says nothing. */
  | { readonly type: 'unknown' };

/** The state after an attempt. `probe`: as `askBreaker` said when it went out. Every attempt counts, also several of one request. */
export function afterAttempt(
  state: BreakerState,
  rules: BreakerRules,
  now: number,
  { result, probe }: { readonly result: BreakerResult; readonly probe: boolean },
): BreakerState {
  if (result.type === 'unknown') return probe ? { ...state, probeUntil: null } : state;
  if (result.type === 'works') return probe ? CLOSED : { ...state, parts: counted(state, rules, now, 0) };
  const parts = counted(state, rules, now, 1);
  const askedUntil = Math.max(state.askedUntil, now + (result.waitMs ?? 0));
  if (result.exhausted)
    return { parts: [], askedUntil, openUntil: now + rules.exhaustedCooldownMs, probeUntil: null, why: 'exhausted' };
  if (probe || (state.openUntil === null && isTooMuch(parts, rules)))
    return { parts: [], askedUntil, openUntil: now + rules.cooldownMs, probeUntil: null, why: 'failures' };
  return { ...state, parts, askedUntil };
}

function counted(
  { parts }: BreakerState,
  { windowMs }: BreakerRules,
  now: number,
  failures: 0 | 1,
): BreakerState['parts'] {
  const number = Math.floor((now * PARTS) / windowMs);
  const kept = parts.filter((part) => part.number > number - PARTS && part.number !== number);
  const { attempts = 0, failures: before = 0 } = parts.find((part) => part.number === number) ?? {};
  return [...kept, { number, attempts: attempts + 1, failures: before + failures }];
}

function isTooMuch(parts: BreakerState['parts'], rules: BreakerRules): boolean {
  const sum = (key: 'attempts' | 'failures'): number => parts.reduce((total, part) => total + part[key], 0);
  const [attempts, failures] = [sum('attempts'), sum('failures')];
  return (
    attempts >= rules.minimumRequests && failures >= rules.failures && failures * 100 >= rules.percentage * attempts
  );
}
