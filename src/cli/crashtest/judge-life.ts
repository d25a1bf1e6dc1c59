import type { z } from 'zod';
import { sameJson } from '../../core/json.js';
import type { LifeEnd, moment } from './life.js';

type Moment = z.infer<typeof moment>;

/** What came of a run whose process died, or did not. */
export interface Lived {
  readonly end: LifeEnd;
  readonly moments: readonly Moment[];
}

/**
 * `held`: the same end, and each body once. `asked`: the same, after a person was asked about a call that may have happened.
 * `repeated`: bodies were executed again that say that this is allowed. The others are failures.
 */
export const VERDICTS = ['held', 'asked', 'repeated', 'doubled', 'lost', 'other_end', 'not_verified', 'stuck'] as const;
export type CrashVerdict = (typeof VERDICTS)[number];

export const isFailure = (verdict: CrashVerdict): boolean => !['held', 'asked', 'repeated'].includes(verdict);

export interface Judged {
  readonly verdict: CrashVerdict;
  /** What a person should look at; empty: nothing. */
  readonly detail: string;
}

/** Compares what came of a run with what came of it without a crash. `lived` null: it did not end in its time, or could not be run. */
export function judgeLife(whole: Lived, lived: Lived | null, why = ''): Judged {
  if (lived === null) return { verdict: 'stuck', detail: why };
  const { end, moments } = lived;
  if (!end.verified) return { verdict: 'not_verified', detail: 'the log does not verify' };
  const times = countsOf(moments);
  const doubled = [...times.values()].filter(({ effect, count }) => effect === 'unsafe' && count > 1);
  if (doubled.length > 0) return { verdict: 'doubled', detail: namesOf(doubled) };
  const wanted = countsOf(whole.moments);
  const missing = [...wanted.values()].filter(({ callId }) => !times.has(callId));
  // A person who was asked may have said something else than the tool, after which the model goes another way.
  const wasAsked = end.asked.length > 0;
  if (missing.length > 0 && !wasAsked) return { verdict: 'lost', detail: namesOf(missing) };
  const other = otherEnd(whole.end, end);
  if (other !== null) return { verdict: 'other_end', detail: other };
  if (wasAsked) return { verdict: 'asked', detail: end.asked.join(', ') };
  const again = [...times.values()].filter(({ callId, count }) => count > (wanted.get(callId)?.count ?? 1));
  return again.length > 0 ? { verdict: 'repeated', detail: namesOf(again) } : { verdict: 'held', detail: '' };
}

function otherEnd(whole: LifeEnd, end: LifeEnd): string | null {
  const said = ({ status, code }: LifeEnd): string => (code === null ? status : `${status} (${code})`);
  if (said(whole) !== said(end)) return `${said(end)} instead of ${said(whole)}`;
  return sameJson(whole.output, end.output) ? null : 'another output';
}

interface Counted {
  readonly callId: string;
  readonly tool: string;
  readonly effect: string;
  readonly count: number;
}

/** How often the body of each call began. */
export function countsOf(moments: readonly Moment[]): ReadonlyMap<string, Counted> {
  const counts = new Map<string, Counted>();
  for (const { when, callId, tool, effect } of moments)
    if (when === 'begins') counts.set(callId, { callId, tool, effect, count: (counts.get(callId)?.count ?? 0) + 1 });
  return counts;
}

const namesOf = (calls: readonly Counted[]): string =>
  calls.map(({ tool, callId, effect, count }) => `${tool} (${callId}, ${effect}): ${count} times`).join('; ');
