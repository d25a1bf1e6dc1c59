import { placeIn, systemFilterIn } from '../core/operations/events.js';
import type { OperationName, Operations } from '../core/operations/table.js';
import type { Context, Reply } from './route.js';

type InputOf<Name extends OperationName> = Parameters<Operations[Name]['args']>[0];

interface Answers<Name extends OperationName> {
  reply(input: InputOf<Name>, context: Context): Promise<Reply>;
}

/** Answers a client that asks for `text/event-stream`. */
export type Stream = Answers<OperationName>['reply'];

/** The operations that can be streamed. */
export const STREAMS: { readonly [Name in 'listEvents' | 'listSystemEvents']: Answers<Name>['reply'] } = {
  listEvents: async (input, { engine, caller, signal }) => {
    const { id } = input.path;
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
