import { z } from 'zod';
import { nameText } from '../json.js';

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

export const alertRule = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'is no name such as passes-fall'),
  about: z.string().max(1000).default(''),
  tenant: nameText.default('default'),
  measure: z.enum(ALERT_MEASURE_NAMES),
  only: z
    .strictObject({
      agent: nameText.exactOptional(),
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
});
export type AlertRule = z.output<typeof alertRule>;

const RULES_MOST = 200;

export const alertsConfig = z
  .strictObject({ rules: z.array(alertRule).max(RULES_MOST) })
  .refine(
    ({ rules }) => new Set(rules.map(({ tenant, name }) => `${tenant} ${name}`)).size === rules.length,
    'has two rules of one name',
  );
/** What a configuration says of them. */
export type AlertsConfig = z.input<typeof alertsConfig>;
