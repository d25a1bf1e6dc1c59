import { z } from 'zod';
import { HoldfastError } from '../core/errors/errors.js';
import { placeIn, systemFilterIn } from '../core/operations/events.js';
import { NO_INPUT, type Operation } from '../core/operations/operation.js';
import { type MethodOf, OPERATIONS, type OperationName, type Operations } from '../core/operations/table.js';
import type { ExportedFile } from '../datasets/read-export.js';
import type { Engine } from '../engine/engine.js';
import { openApiDocument } from './openapi.js';
import { OPEN_ROUTES } from './probes.js';
import { type Context, type GuardedRoute, guarded, json, type Reply, type Route } from './route.js';
import { SIGN_IN_ROUTES } from './sign-in-routes.js';

type InputOf<Name extends OperationName> = Parameters<Operations[Name]['args']>[0];

interface Answers<Name extends OperationName> {
  reply(input: InputOf<Name>, context: Context): Promise<Reply>;
}

/** Answers a client that asks for `text/event-stream`. */
type Stream = Answers<OperationName>['reply'];

/** A stream is in the order of the log, and whole. */
function refuseOrder({ order, kind }: InputOf<'listEvents'>['query']): void {
  const wrong = [...(order === 'desc' ? ['order'] : []), ...(kind === undefined ? [] : ['kind'])];
  if (wrong.length === 0) return;
  const fields = wrong.map((name) => ({ pointer: `/query/${name}`, detail: 'a stream has all events, oldest first' }));
  throw new HoldfastError('invalid_request', `A stream does not take ${wrong.join(' and ')}.`, { fields });
}

/** The operations that can be streamed. */
const STREAMS: { readonly [Name in 'listEvents' | 'listSystemEvents']: Answers<Name>['reply'] } = {
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

type ArgumentsOf<Method> = Method extends keyof Engine
  ? Engine[Method] extends (...args: infer Arguments) => unknown
    ? Readonly<Arguments>
    : never
  : never;

/** Operations whose methods the engine has, with arguments that these methods take. */
type Callable = {
  readonly [Name in OperationName]: {
    args(...of: Parameters<Operations[Name]['args']>): ArgumentsOf<MethodOf<Name>>;
  };
};

const made = z.object({ id: z.string() });
const exposition = z.object({ contentType: z.string(), text: z.string() });

/** What an operation answers with what the engine gave. */
function replyOf(
  { media, status = 200, location }: Pick<Operation, 'media' | 'status' | 'location'>,
  given: unknown,
): Reply {
  if (media === 'application/x-ndjson') return { type: 'lines', lines: given as AsyncIterable<unknown> };
  if (media === 'application/octet-stream') return { type: 'file', ...(given as ExportedFile) };
  if (media === 'text/plain') return { type: 'text', ...exposition.parse(given) };
  const place = location?.replace('{id}', encodeURIComponent(made.parse(given).id));
  return { type: 'json', status, body: given, ...(place === undefined ? {} : { location: place }) };
}

const streams: { readonly [name: string]: Stream | undefined } = STREAMS;

function routeOf(name: string, operation: Operation): GuardedRoute {
  const { calls, args, ...description } = operation;
  const stream = streams[name];
  return guarded({
    ...description,
    operationId: name,
    handle: async (input, context) => {
      if (context.wantsEvents && stream !== undefined) return stream(input, context);
      const method = context.engine[(calls ?? name) as keyof Engine] as (...given: readonly unknown[]) => unknown;
      return replyOf(operation, await Reflect.apply(method, context.engine, args(input, context)));
    },
  });
}

const DOCUMENT_ROUTE = guarded({
  ...NO_INPUT,
  method: 'GET',
  path: '/api/v1/openapi.json',
  operationId: 'getOpenApi',
  summary: 'Read this document.',
  access: 'shared',
  response: z.looseObject({ openapi: z.string() }),
  errors: [],
  handle: async () => json(openApiDocument(ROUTES)),
});

export const GUARDED_ROUTES: readonly GuardedRoute[] = [
  // An operation that the engine cannot be asked for does not compile here.
  ...Object.entries<Operation>(OPERATIONS satisfies Callable).map(([name, operation]) => routeOf(name, operation)),
  DOCUMENT_ROUTE,
];

/** What a server answers that serves metrics alone. */
export const METRICS_ROUTES: readonly GuardedRoute[] = GUARDED_ROUTES.filter(
  ({ operationId }) => operationId === 'getMetrics',
);

/** Every route of the server: what the app serves, and what OpenAPI and docs/http.md describe. */
export const ROUTES: readonly Route[] = [...GUARDED_ROUTES, ...SIGN_IN_ROUTES, ...OPEN_ROUTES];
