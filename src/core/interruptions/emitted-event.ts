import { z } from 'zod';
import { jsonValue } from '../json.js';
import { eventKey, eventName } from './wait.js';

/** What is kept of events that no run waits for yet, and for how long any event is remembered. */
export const KEPT_EVENTS = {
  ttlMs: 7 * 24 * 3_600_000,
  perName: 1000,
  perTenant: 10_000,
  payloadBytes: 65_536,
} as const;

const visible = z.string().regex(/^[\x21-\x7e]{1,255}$/, 'expected 1 to 255 visible ASCII characters');

/** The body of `POST /api/v1/events/{name}`. */
export const emitBody = z
  .strictObject({
    payload: jsonValue.optional().describe('What the waiting call gets; 64 KiB at most. Default null.'),
    key: eventKey.optional().describe('Which of several of this name. A wait that names a key takes only that.'),
    runId: eventKey.optional().describe('Only this run may take it.'),
    eventId: visible
      .optional()
      .describe('The same id again is the same event. Default: the Idempotency-Key, else made.'),
  })
  .meta({ id: 'EmitEvent' });
export type EmitEvent = z.infer<typeof emitBody>;

export const emittedEvent = z
  .object({
    id: z.string(),
    name: eventName,
    key: z.string().nullable(),
    runId: z.string().nullable(),
    status: z.enum(['kept', 'delivered']).describe('`kept`: no run waited for it yet.'),
    delivered: z.int().describe('How many waits it settled.'),
    emittedAt: z.iso.datetime(),
    expiresAt: z.iso.datetime().describe('Until then it is kept, and its id is remembered.'),
  })
  .meta({ id: 'EmittedEvent' });
export type EmittedEvent = z.infer<typeof emittedEvent>;
