import { z } from 'zod';
import { nameWithoutControls } from '../json.js';

const days = z.int().min(1).max(36_500);

const endings = ['completed', 'failed', 'cancelled'] as const;

export const retentionRule = z.strictObject({
  /** Default: however it ended. */
  status: z.enum(endings).optional(),
  /** Days since the run was over. */
  olderThanDays: days,
  tenant: nameWithoutControls.optional(),
  agent: nameWithoutControls.optional(),
  /** `erase`: its content goes, its log still verifies. `delete`: all of it goes but what it cost. */
  do: z.enum(['erase', 'delete']),
});
export type RetentionRule = z.infer<typeof retentionRule>;

export const retentionConfig = z.strictObject({
  /** What becomes of runs that are over. Default: nothing. */
  runs: z.array(retentionRule).max(100).optional(),
  /** Days for which what DBOS recorded of a segment or an export is kept that is not needed any more; null: forever. */
  recordingsDays: days.nullish(),
  accessLogDays: days.nullish(),
  idempotencyKeysDays: days.nullish(),
  /** Days since an export was over for which it is listed; its folder stays. */
  exportsDays: days.nullish(),
  /** Days for which events of the system are kept; null: forever. */
  systemEventsDays: days.nullish(),
  /** Days since a run was over after which its log is packed; null: never. Nothing of it goes. */
  packLogsDays: z.int().min(0).max(36_500).nullish(),
});
/** How long what is kept. */
export type RetentionConfig = z.input<typeof retentionConfig>;

/** Rows that go by their age alone, and the setting that says when. */
export const TRIMMED = ['recordings', 'accessLog', 'idempotencyKeys', 'exports', 'systemEvents'] as const;
export type Trimmed = (typeof TRIMMED)[number];

/** A configuration with what it leaves out. */
export interface Retention {
  readonly runs: readonly RetentionRule[];
  readonly days: { readonly [what in Trimmed]: number | null };
  readonly packLogsDays: number | null;
}

const RECORDINGS_DAYS = 7;
const SYSTEM_EVENTS_DAYS = 7;
const PACK_LOGS_DAYS = 1;

export const retentionOf = (config: RetentionConfig | undefined): Retention => ({
  runs: config?.runs ?? [],
  days: {
    recordings: config?.recordingsDays === undefined ? RECORDINGS_DAYS : config.recordingsDays,
    accessLog: config?.accessLogDays ?? null,
    idempotencyKeys: config?.idempotencyKeysDays ?? null,
    exports: config?.exportsDays ?? null,
    systemEvents: config?.systemEventsDays === undefined ? SYSTEM_EVENTS_DAYS : config.systemEventsDays,
  },
  packLogsDays: config?.packLogsDays === undefined ? PACK_LOGS_DAYS : config.packLogsDays,
});

/** The way in which the runs of a rule have ended, which an index knows. */
export interface RuleStatus {
  readonly status: (typeof endings)[number];
}

export const statusesOf = ({ status }: RetentionRule): readonly RuleStatus['status'][] =>
  status === undefined ? endings : [status];

/** Why a rule takes a run, in the words that are kept with it. */
export const reasonOfRule = ({ status, olderThanDays, do: what }: RetentionRule): string =>
  `retention: ${what} ${status ?? 'what is over'} after ${olderThanDays} days`;

const count = z.object({
  count: z.int(),
  atLeast: z.boolean().describe('Whether there are more: it was not counted further.'),
});

/** What would go if retention were done now, of the caller's tenant. */
export const retentionView = z
  .object({
    runs: z.array(count.extend({ rule: retentionRule })).describe('By rule, in their order.'),
    trimmed: z.array(count.extend({ what: z.enum(TRIMMED), olderThanDays: z.int() })),
    nextAt: z.iso.datetime().nullable().describe('When it is done next.'),
  })
  .meta({ id: 'Retention' });
export type RetentionView = z.infer<typeof retentionView>;
