import { HoldfastError } from '../core/errors/errors.js';
import { placeIn, systemFilterIn } from '../core/operations/events.js';
import type { OperationName, Operations } from '../core/operations/table.js';
import type { Context, Reply } from './route.js';

type InputOf<Name extends OperationName> = Parameters<Operations[Name]['args']>[0];

interface Answers<Name extends OperationName> {
  reply(input: InputOf<Name>, context: Context): Promise<Reply>;
}

/** Answers a client that asks for `text/event-stream`. */
export type Stream = Answers<OperationName>['reply'];

/** A stream is in the order of the log, and whole. */
function refuseOrder({ order, kind }: InputOf<'listEvents'>['query']): void {
  const wrong = [...(order === 'desc' ? ['order'] : []), ...(kind === undefined ? [] : ['kind'])];
  if (wrong.length === 0) return;
  const fields = wrong.map((name) => ({ pointer: `/query/${name}`, detail: 'a stream has all events, oldest first' }));
  throw new HoldfastError('invalid_request', `A stream does not take ${wrong.join(' and ')}.`, { fields });
}

/** The operations that can be streamed. */
export const STREAMS: { readonly [Name in 'listEvents' | 'listSystemEvents']: Answers<Name>['reply'] } = {
  listEvents: async (input, { engine, caller, signal }) => {
    const { id } = input.path;
    refuseOrder(input.query);
    await engine.getRun(id, caller);
    const options = { after: placeIn(input), signal };
    const withDeltas = input.query.deltas === 'true';
    return {
      type: 'events',
      events: withDeltas ? engine.streamRun(id, options, caller) : engine.streamEvents(id, options, caller),
      end: async () => ({ status: (await engine.getRun(id, caller)).status }),
    };
  },
  listSystemEvents: async (input, { engine, caller, signal }) => ({
    type: 'events',
    events: engine.streamSystemEvents({ ...systemFilterIn(input), signal }, caller),
    end: async () => ({}),
  }),
};
