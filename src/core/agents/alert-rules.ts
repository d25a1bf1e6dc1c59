import { z } from 'zod';
import { nameText, nameWithoutControls } from '../json.js';

/** Rules that watch how tasks end. */

/** What is measured of the tasks that completed or failed within a window. */
export const ALERT_MEASURES = {
  tasks: 'how many there are',
  passRate: 'the share that passed',
  errorRate: 'the share whose result is `error`',
  timeoutRate: 'the share whose result is `timeout`',
  reward: 'the mean reward; none counts as 0',
  quality: 'the mean quality score',
  diversity: 'the mean diversity score',
  turns: 'the mean number of model calls',
  tokens: 'the mean number of tokens',
  activeMs: 'the mean number of milliseconds at work',
  usd: 'the mean cost in dollars, of those whose price is known',
} as const;
export type AlertMeasure = keyof typeof ALERT_MEASURES;
export const ALERT_MEASURE_NAMES = Object.keys(ALERT_MEASURES) as [AlertMeasure, ...AlertMeasure[]];

const finite = z.number().min(-1e12).max(1e12);

/** The side of a bound on which a value is wrong, and where it is right again. */
const bound = {
  above: finite.optional(),
  below: finite.optional(),
  clear: finite.optional(),
};

interface Bound {
  readonly above?: number | undefined;
  readonly below?: number | undefined;
  readonly clear?: number | undefined;
}

const hasOneBound = ({ above, below }: Bound): boolean => (above === undefined) !== (below === undefined);
const clearsBehind = ({ above, below, clear }: Bound): boolean =>
  clear === undefined || (above !== undefined ? clear <= above : clear >= (below ?? clear));

export const alertCondition = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('threshold'), ...bound }),
    z.strictObject({ type: z.literal('change'), ...bound }),
    z.strictObject({ type: z.literal('anomaly'), ...bound, windows: z.int().min(3).max(100).default(12) }),
  ])
  .refine(hasOneBound, 'has either `above` or `below`')
  .refine(clearsBehind, { path: ['clear'], error: 'lies behind the bound, so that an alert would never end' });
export type AlertCondition = z.output<typeof alertCondition>;

const SHARE: Range = [0, 1];
const ANY: Range = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
type Range = readonly [least: number, most: number];

/** Tasks that a rule reads of its windows; the newest ones. */
export const TASKS_MOST = 100_000;

/** Between what a measure lies. One that is not named is not negative. */
const RANGES: { readonly [M in AlertMeasure]?: Range } = {
  ...{ passRate: SHARE, errorRate: SHARE, timeoutRate: SHARE, quality: SHARE, diversity: SHARE },
  ...{ reward: ANY, tasks: [0, TASKS_MOST] },
};

function rangeOf(measure: AlertMeasure, { type }: AlertCondition): Range {
  const [least, most] = RANGES[measure] ?? [0, Number.POSITIVE_INFINITY];
  return type === 'threshold' ? [least, most] : type === 'change' ? [least - most, most - least] : ANY;
}

interface Watched {
  readonly measure: AlertMeasure;
  readonly minTasks: number;
  readonly when: AlertCondition;
}

/** What keeps a rule from firing or from ending, whatever tasks do; null: nothing. Such a bound is a mistake: per cent, often. */
function vainBound({ measure, minTasks, when }: Watched): { readonly at: keyof Bound; readonly why: string } | null {
  const { type, above, below, clear } = when;
  if (measure === 'tasks' && type === 'threshold' && below !== undefined && below > 0 && below <= minTasks)
    return { at: 'below', why: `never fires: a window with fewer tasks than ${minTasks} says nothing (\`minTasks\`)` };
  const [least, most] = rangeOf(measure, when);
  const what = type === 'change' ? `${measure} changes by` : `${measure} is`;
  const why = `expected a bound that can be passed: ${what} ${most === Number.POSITIVE_INFINITY ? `at least ${least}` : `${least} to ${most}`}`;
  if (above !== undefined && (above < least || above >= most)) return { at: 'above', why };
  if (below !== undefined && (below <= least || below > most)) return { at: 'below', why };
  return clear !== undefined && (clear < least || clear > most) ? { at: 'clear', why } : null;
}

export const alertRule = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'is no name such as passes-fall'),
    about: z.string().max(1000).default(''),
    tenant: nameWithoutControls.default('default'),
    measure: z.enum(ALERT_MEASURE_NAMES),
    only: z
      .strictObject({
        agent: nameWithoutControls.exactOptional(),
        name: nameText.exactOptional(),
        category: nameText.exactOptional(),
        difficulty: nameText.exactOptional(),
      })
      .default({}),
    /** Length of a window, in minutes. */
    windowMinutes: z.int().min(1).max(10_080).default(60),
    /** A window with fewer tasks says nothing. */
    minTasks: z.int().min(0).max(100_000).default(10),
    when: alertCondition,
    /** For so long it must be wrong before the alert fires. */
    forMinutes: z.number().min(0).max(10_080).default(0),
    /** For so long it must be right before the alert ends. */
    clearForMinutes: z.number().min(0).max(10_080).default(0),
    everySeconds: z.number().min(1).max(86_400).default(60),
  })
  .superRefine((rule, context) => {
    const vain = vainBound(rule);
    if (vain !== null) context.addIssue({ code: 'custom', path: ['when', vain.at], message: vain.why });
  });
export type AlertRule = z.output<typeof alertRule>;

const RULES_MOST = 200;

export const alertsConfig = z
  .strictObject({ rules: z.array(alertRule).max(RULES_MOST) })
  .superRefine(({ rules }, context) => {
    const isSame = (one: AlertRule, other: AlertRule) => one.tenant === other.tenant && one.name === other.name;
    for (const [at, rule] of rules.entries())
      if (rules.findIndex((other) => isSame(rule, other)) < at)
        context.addIssue({ code: 'custom', path: ['rules', at, 'name'], message: 'is the name of another rule too' });
  });
/** What a configuration says of them. */
export type AlertsConfig = z.input<typeof alertsConfig>;
