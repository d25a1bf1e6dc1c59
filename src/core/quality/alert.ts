import { z } from 'zod';
import { ALERT_MEASURE_NAMES } from '../agents/alert-rules.js';

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

export const alertList = z.object({ items: z.array(alertView) }).meta({ id: 'AlertList' });
export type AlertList = z.infer<typeof alertList>;

export const silenceAlert = z
  .strictObject({
    minutes: z.number().min(0).max(43_200).describe('From now on; 0 ends the silence.'),
    reason: z.string().min(1).max(1000),
  })
  .meta({ id: 'SilenceAlert' });
export type SilenceAlert = z.infer<typeof silenceAlert>;
