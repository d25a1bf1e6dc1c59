import { z } from 'zod';
import { SYSTEM_EVENT_KINDS, type SystemEventKind } from '../log/system-event.js';

/** How webhooks of the configuration are told. */

export const WEBHOOK_STATES = ['waiting', 'told', 'behind', 'failing'] as const;

export const webhookView = z
  .object({
    name: z.string(),
    tenant: z.string().describe('Whose events it is told of, beside those of the installation.'),
    kinds: z.array(z.enum(SYSTEM_EVENT_KINDS as readonly [SystemEventKind, ...SystemEventKind[]])),
    state: z
      .enum(WEBHOOK_STATES)
      .describe(
        '`waiting`: no worker looked at it yet. `told`: it has all its events. `behind`: a worker is to tell it more. ' +
          '`failing`: its next event could not be told.',
      ),
    delivered: z.int().describe('Events that its server has taken.'),
    deliveredAt: z.iso.datetime().nullable().describe('When the last of them was; null: none yet.'),
    givenUp: z.int().describe('Events that are not tried any more.'),
    behind: z.int().describe('Events of the system after its place, also those of other kinds.'),
    tries: z.int().describe('How often its next event failed.'),
    failingSince: z.iso.datetime().nullable(),
    problem: z
      .string()
      .nullable()
      .describe('What went wrong last, without the address and the answer; null: nothing since it was last told.'),
    nextTryAt: z.iso.datetime().nullable().describe('When a worker tries a failed event again; null: none failed.'),
  })
  .meta({ id: 'Webhook' });
export type WebhookView = z.infer<typeof webhookView>;

export const webhookList = z.object({ items: z.array(webhookView) }).meta({ id: 'WebhookList' });
export type WebhookList = z.infer<typeof webhookList>;
