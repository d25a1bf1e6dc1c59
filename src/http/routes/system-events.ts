import { z } from 'zod';
import { SYSTEM_EVENT_KINDS, type SystemEventKind, systemEvent } from '../../core/log/system-event.js';
import { pageOf, pageQuery, sequence } from '../fields.js';
import { guarded, json, NO_INPUT } from '../route.js';

/** An empty id is what a client has before its first event. */
const lastEventId = z.union([z.literal('').transform(() => 0), sequence]).exactOptional();
const id = z.string().regex(/^[\x21-\x7e]{1,200}$/, 'expected at most 200 visible ASCII characters');

export const SYSTEM_EVENT_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/events',
    operationId: 'listSystemEvents',
    summary: 'Page through what happens in the whole system, or stream it.',
    description:
      'With `Accept: text/event-stream`: all events after the given one, then those that come; the stream has no end of its own. The id ' +
      'of a message is the place of the event, its name the kind, its data the event. A message named `events.trimmed`, without an id, ' +
      'says that events before what follows are gone by retention. Events of other tenants are left out, and so are those of the installation unless the token has a role in it.',
    role: 'viewer',
    query: z.strictObject({
      limit: pageQuery.limit,
      cursor: z
        .union([z.literal('now'), sequence])
        .default(0)
        .describe('Events after this place; `now`: after everything that there is.'),
      kind: z.enum(SYSTEM_EVENT_KINDS as [SystemEventKind, ...SystemEventKind[]]).exactOptional(),
      task: id.exactOptional(),
      run: id.exactOptional(),
      lastEventId: lastEventId.describe('As the header, for clients that cannot set one.'),
    }),
    header: z.object({ 'last-event-id': lastEventId }),
    response: pageOf(systemEvent).extend({
      trimmed: z.int().describe('Events up to this place are gone by retention.'),
    }),
    streams: 'text/event-stream',
    errors: ['rate_limited'],
    handle: async ({ query, header }, { engine, caller, signal, wantsEvents }) => {
      const { kind, task, run, limit } = query;
      const filter = {
        after: header['last-event-id'] ?? query.lastEventId ?? query.cursor,
        ...(kind === undefined ? {} : { kind }),
        ...(task === undefined ? {} : { taskId: task }),
        ...(run === undefined ? {} : { runId: run }),
      };
      if (!wantsEvents) return json(await engine.listSystemEvents({ ...filter, limit }, caller));
      return {
        type: 'events',
        events: engine.streamSystemEvents({ ...filter, signal }, caller),
        end: async () => ({}),
      };
    },
  }),
];
