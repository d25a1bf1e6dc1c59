import { z } from 'zod';
import { ALERT_MEASURE_NAMES, type AlertCondition, type AlertRule } from '../agents/alert-rules.js';
import { unreadableItem } from '../page.js';

/** The states of alerts. */

export const ALERT_STATES = ['ok', 'pending', 'firing'] as const;
export type AlertState = (typeof ALERT_STATES)[number];

export const alertView = z
  .object({
    name: z.string(),
    about: z.string(),
    measure: z.enum(ALERT_MEASURE_NAMES),
    type: z.enum(['threshold', 'change', 'anomaly']),
    state: z.enum(ALERT_STATES),
    since: z.iso.datetime().nullable().describe('Since when it is in this state; null: no worker looked yet.'),
    value: z.number().nullable().describe('What was measured of the last window; null: too few tasks.'),
    compared: z
      .number()
      .nullable()
      .describe('What is compared with the bound: the value, its change, or its deviations; null: nothing to compare.'),
    above: z.number().nullable(),
    below: z.number().nullable(),
    clear: z.number().nullable(),
    tasks: z.int().nullable().describe('Tasks of the last window.'),
    evaluatedAt: z.iso.datetime().nullable(),
    silence: z
      .object({ until: z.iso.datetime(), actor: z.string(), reason: z.string() })
      .nullable()
      .describe('Until then no event tells of it.'),
  })
  .meta({ id: 'Alert' });
export type AlertView = z.infer<typeof alertView>;

export const alertList = z
  .object({
    items: z.array(alertView),
    unreadable: z
      .array(unreadableItem)
      .exactOptional()
      .describe(
        'Alerts, by their name, whose rows cannot be read, because someone changed them. Absent: there is none.',
      ),
  })
  .meta({ id: 'AlertList' });
export type AlertList = z.infer<typeof alertList>;

export const silenceAlert = z
  .strictObject({
    minutes: z.number().min(0).max(43_200).describe('From now on; 0 ends the silence.'),
    reason: z.string().min(1).max(1000),
  })
  .meta({ id: 'SilenceAlert' });
export type SilenceAlert = z.infer<typeof silenceAlert>;

/** How an alert goes from one state to the next. Pure: the clock is given. */

/** What was measured of windows, the last one first; null: too few tasks. */
export type Windows = readonly (number | null)[];

/** Windows that a rule reads. */
export const windowsOf = (when: AlertCondition): number =>
  when.type === 'threshold' ? 1 : when.type === 'change' ? 2 : when.windows + 1;

const median = (sorted: readonly number[]): number => {
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
};
const medianOf = (values: readonly number[]): number => median([...values].sort((a, b) => a - b));

/** A median absolute deviation of 1 is so many standard deviations of a normal distribution. */
const MAD_TO_DEVIATION = 1.4826;
/** Windows that hardly vary deviate by this share of their median at least. */
const LEAST_SHARE = 0.01;
const LEAST = 1e-9;
/** Fewer windows before make no median. */
const BEFORE_LEAST = 3;

/** What is compared with the bound of a rule; null: there is too little to compare. */
export function comparedOf(when: AlertCondition, [value = null, ...before]: Windows): number | null {
  if (value === null || when.type === 'threshold') return value;
  if (when.type === 'change') {
    const [last = null] = before;
    return last === null ? null : value - last;
  }
  const known = before.filter((one) => one !== null);
  if (known.length < BEFORE_LEAST) return null;
  const centre = medianOf(known);
  const spread = MAD_TO_DEVIATION * medianOf(known.map((one) => Math.abs(one - centre)));
  return (value - centre) / Math.max(spread, LEAST_SHARE * Math.abs(centre), LEAST);
}

/** Wrong: beyond the bound. Right: behind where it clears. Between them nothing changes. */
function judged({ above, below, clear }: AlertCondition, compared: number | null): 'wrong' | 'right' | 'between' {
  if (compared === null) return 'between';
  if (above !== undefined) return compared > above ? 'wrong' : compared <= (clear ?? above) ? 'right' : 'between';
  const least = below ?? 0;
  return compared < least ? 'wrong' : compared >= (clear ?? least) ? 'right' : 'between';
}

export interface AlertStanding {
  readonly state: AlertState;
  readonly sinceMs: number;
  /** Since when a firing alert is right again; null: it is not. */
  readonly rightSinceMs: number | null;
}

const MINUTE_MS = 60_000;

/** The state of an alert after one more look. Without enough tasks a firing alert stays, since nothing says that it is over. */
export function nextStanding(
  { when, forMinutes, clearForMinutes }: Pick<AlertRule, 'when' | 'forMinutes' | 'clearForMinutes'>,
  standing: AlertStanding,
  { compared, nowMs }: { readonly compared: number | null; readonly nowMs: number },
): AlertStanding {
  const found = judged(when, compared);
  if (standing.state === 'firing') {
    if (found === 'wrong') return { ...standing, rightSinceMs: null };
    // It has come back, and stays between the two: the time goes on.
    const rightSinceMs = found === 'right' ? (standing.rightSinceMs ?? nowMs) : standing.rightSinceMs;
    if (rightSinceMs === null || compared === null) return standing;
    return nowMs - rightSinceMs >= clearForMinutes * MINUTE_MS
      ? { state: 'ok', sinceMs: nowMs, rightSinceMs: null }
      : { ...standing, rightSinceMs };
  }
  if (found !== 'wrong')
    return standing.state === 'ok' ? standing : { state: 'ok', sinceMs: nowMs, rightSinceMs: null };
  const pending =
    standing.state === 'pending' ? standing : { state: 'pending' as const, sinceMs: nowMs, rightSinceMs: null };
  return nowMs - pending.sinceMs >= forMinutes * MINUTE_MS
    ? { state: 'firing', sinceMs: nowMs, rightSinceMs: null }
    : pending;
}
