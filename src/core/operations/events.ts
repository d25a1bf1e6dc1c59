import { z } from 'zod';
import { HoldfastError } from '../errors/errors.js';
import { emitBody, emittedEvent } from '../interruptions/emitted-event.js';
import { eventName } from '../interruptions/wait.js';
import { idText } from '../json.js';
import { runEvent } from '../log/event.js';
import { findRequest, foundTexts } from '../log/find.js';
import { SYSTEM_EVENT_KINDS, type SystemEventKind, systemEvent } from '../log/system-event.js';
import { idPath, lastEventId, optionalKey, pageOf, pageQuery, sequence } from './fields.js';
import { type Input, operation } from './operation.js';

const lastEventHeader = z.object({ 'last-event-id': lastEventId });

/** The column is an int4. */
const eventNumber = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, 'expected the sequence number of an event')
  .transform(Number);

/** The place after which a client asks for events: the header goes before the query. */
export const placeIn = <Place>({
  header,
  query,
}: {
  readonly header: { readonly 'last-event-id'?: number };
  readonly query: { readonly cursor: Place; readonly lastEventId?: number };
}): Place | number => header['last-event-id'] ?? query.lastEventId ?? query.cursor;

export const EVENT_OPERATIONS = {
  listEvents: operation({
    method: 'GET',
    path: '/api/v1/runs/{id}/events',
    summary: 'Page through the events of a run, or stream them.',
    description:
      '`order=desc` gives the newest first. With `Accept: text/event-stream`: all events after the given one, then those that come. The id of a message is the ' +
      'sequence number, its name the kind of the event, its data the event. A message named `end` closes the stream of a ' +
      'run that is over. Messages without an id, named `delta`, `deltas.replaced` and `deltas.dropped`, say what a model says ' +
      'while it answers, if the run streams. A browser reconnects by itself with Last-Event-ID, which goes before the query.',
    access: { tenant: 'viewer' },
    pathParams: idPath,
    query: z.strictObject({
      ...pageQuery,
      cursor: sequence.default(0).describe('Events after this sequence number; with `order=desc`, before it.'),
      order: z.enum(['asc', 'desc']).default('asc').describe('`desc`: from the end of the log. Not of a stream.'),
      kind: z
        .string()
        .regex(/^[a-z][a-z_.]{0,59}$/, 'expected a kind of event')
        .exactOptional()
        .describe('Only events of this kind. Not of a stream.'),
      deltas: z
        .enum(['true', 'false'])
        .default('true')
        .describe('Whether a stream also says what models say while they answer: docs/models/streaming.md.'),
      lastEventId: lastEventId.describe('As the header, for clients that cannot set one.'),
    }),
    header: lastEventHeader,
    response: pageOf(runEvent),
    streams: 'text/event-stream',
    errors: ['run_unknown', 'rate_limited'],
    args: (input, { caller }) => {
      const { order, kind, limit, cursor } = input.query;
      const which = { limit, ...(kind === undefined ? {} : { kind }) };
      const place = order === 'asc' ? { after: placeIn(input) } : { before: cursor === 0 ? null : cursor };
      return [input.path.id, { ...which, ...place }, caller];
    },
  }),
  getEvent: operation({
    method: 'GET',
    path: '/api/v1/runs/{id}/events/{seq}',
    summary: 'Read one event of a run.',
    access: { tenant: 'viewer' },
    pathParams: idPath.extend({ seq: eventNumber }),
    response: runEvent,
    errors: ['run_unknown', 'event_unknown'],
    args: ({ path }, { caller }) => [path.id, path.seq, caller],
  }),
  findInLog: operation({
    method: 'GET',
    path: '/api/v1/runs/{id}/find',
    summary: 'Find a text in the payloads of a run.',
    description:
      'A request reads at most 5,000 events; `nextCursor` goes on after them, also where none of them had the text.',
    access: { tenant: 'viewer' },
    pathParams: idPath,
    query: z.strictObject({
      limit: pageQuery.limit,
      cursor: sequence.default(0).describe('Events after this sequence number.'),
      q: findRequest,
    }),
    response: foundTexts,
    errors: ['run_unknown', 'rate_limited'],
    args: ({ path, query: { q, cursor, limit } }, { caller, signal }) => [
      path.id,
      { text: q, after: cursor, limit },
      caller,
      { signal },
    ],
  }),
};

export const EMITTED_EVENT_OPERATIONS = {
  emitEvent: operation({
    method: 'POST',
    path: '/api/v1/events/{name}',
    summary: 'Tell runs that something happened; kept for the first wait that comes when none waits.',
    access: { tenant: 'operator' },
    pathParams: z.strictObject({ name: eventName }),
    header: optionalKey,
    body: emitBody,
    response: emittedEvent,
    errors: ['run_unknown', 'run_over', 'idempotency_key_reused', 'events_full', 'value_not_json'],
    audited: true,
    args: ({ path, header, body }, { caller }) => {
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
      return [path.name, { ...body, ...(eventId === undefined ? {} : { eventId }) }, caller];
    },
  }),
};

const systemEventQuery = z.strictObject({
  limit: pageQuery.limit,
  cursor: z
    .union([z.literal('now'), sequence])
    .default(0)
    .describe('Events after this place; `now`: after everything that there is.'),
  kind: z.enum(SYSTEM_EVENT_KINDS as [SystemEventKind, ...SystemEventKind[]]).exactOptional(),
  task: idText.exactOptional(),
  run: idText.exactOptional(),
  lastEventId: lastEventId.describe('As the header, for clients that cannot set one.'),
});

/** What narrows the events of the system. */
export function systemFilterIn(input: Input<z.ZodObject, typeof systemEventQuery, typeof lastEventHeader>) {
  const { kind, task, run } = input.query;
  return {
    after: placeIn(input),
    ...(kind === undefined ? {} : { kind }),
    ...(task === undefined ? {} : { taskId: task }),
    ...(run === undefined ? {} : { runId: run }),
  };
}

export const SYSTEM_EVENT_OPERATIONS = {
  listSystemEvents: operation({
    method: 'GET',
    path: '/api/v1/events',
    summary: 'Page through what happens in the whole system, or stream it.',
    description:
      'With `Accept: text/event-stream`: all events after the given one, then those that come; the stream has no end of its own. The id ' +
      'of a message is the place of the event, its name the kind, its data the event. A message named `events.trimmed`, without an id, ' +
      'says that events before what follows are gone by retention. Events of other tenants are left out, and so are those of the installation unless the token has a role in it.',
    access: { tenant: 'viewer' },
    query: systemEventQuery,
    header: lastEventHeader,
    response: pageOf(systemEvent).extend({
      trimmed: z.int().describe('Events up to this place are gone by retention.'),
    }),
    streams: 'text/event-stream',
    errors: ['rate_limited'],
    args: (input, { caller }) => [{ ...systemFilterIn(input), limit: input.query.limit }, caller],
  }),
};
