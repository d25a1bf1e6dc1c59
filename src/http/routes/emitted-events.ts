import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { emitBody, emittedEvent } from '../../core/interruptions/emitted-event.js';
import { eventName } from '../../core/interruptions/wait.js';
import { idempotencyKey } from '../idempotency.js';
import { guarded, json, NO_INPUT } from '../route.js';

export const EMITTED_EVENT_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/events/{name}',
    operationId: 'emitEvent',
    summary: 'Tell runs that something happened; kept for the first wait that comes when none waits.',
    role: 'operator',
    pathParams: z.strictObject({ name: eventName }),
    header: z.object({ 'idempotency-key': idempotencyKey.exactOptional() }),
    body: emitBody,
    response: emittedEvent,
    errors: ['run_unknown', 'run_over', 'idempotency_key_reused', 'events_full', 'value_not_json'],
    audited: true,
    handle: async ({ path, header, body }, { engine, caller }) => {
      const key = header['idempotency-key'];
      if (key !== undefined && body.eventId !== undefined && key !== body.eventId) {
        throw new HoldfastError(
          'invalid_request',
          '/eventId: differs from the Idempotency-Key; one of them is enough.',
          {
            fields: [{ pointer: '/eventId', detail: 'differs from the Idempotency-Key' }],
          },
        );
      }
      const eventId = body.eventId ?? key;
      return json(
        await engine.emitEvent(path.name, { ...body, ...(eventId === undefined ? {} : { eventId }) }, caller),
      );
    },
  }),
];
