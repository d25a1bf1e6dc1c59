import { z } from 'zod';
import { runEvent } from '../../core/log/event.js';
import { idPath, pageOf, pageQuery, sequence } from '../fields.js';
import { guarded, json, NO_INPUT } from '../route.js';

/** An empty id is what a client has before its first event. */
const lastEventId = z.union([z.literal('').transform(() => 0), sequence]).exactOptional();

export const EVENT_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/runs/{id}/events',
    operationId: 'listEvents',
    summary: 'Page through the events of a run, or stream them.',
    description:
      'With `Accept: text/event-stream`: all events after the given one, then those that come. The id of a message is the ' +
      'sequence number, its name the kind of the event, its data the event. A message named `end` closes the stream of a ' +
      'run that is over. Messages without an id, named `delta`, `deltas.replaced` and `deltas.dropped`, say what a model says ' +
      'while it answers, if the run streams. A browser reconnects by itself with Last-Event-ID, which goes before the query.',
    role: 'viewer',
    pathParams: idPath,
    query: z.strictObject({
      ...pageQuery,
      cursor: sequence.default(0).describe('Events after this sequence number.'),
      deltas: z
        .enum(['true', 'false'])
        .default('true')
        .describe('Whether a stream also says what models say while they answer: docs/streaming.md.'),
      lastEventId: lastEventId.describe('As the header, for clients that cannot set one.'),
    }),
    header: z.object({ 'last-event-id': lastEventId }),
    response: pageOf(runEvent),
    streams: 'text/event-stream',
    errors: ['run_unknown', 'rate_limited'],
    handle: async ({ path: { id }, query, header }, { engine, caller, signal, wantsEvents }) => {
      const after = header['last-event-id'] ?? query.lastEventId ?? query.cursor;
      if (!wantsEvents) return json(await engine.listEvents(id, { after, limit: query.limit }, caller));
      await engine.getRun(id, caller);
      const options = { after, signal };
      return {
        type: 'events',
        events:
          query.deltas === 'true' ? engine.streamRun(id, options, caller) : engine.streamEvents(id, options, caller),
        end: async () => ({ status: (await engine.getRun(id, caller)).status }),
      };
    },
  }),
];
