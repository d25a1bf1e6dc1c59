import { z } from 'zod';
import type { Caller, Role } from '../core/caller.js';
import { type ErrorCode, HoldfastError } from '../core/errors/errors.js';
import { invalidRequest } from '../core/field-errors.js';
import type { JsonObject } from '../core/json.js';
import type { BatchLine } from '../core/tasks/task-batch.js';
import type { Engine } from '../engine/verbs.js';
import { namedTrouble } from '../storage/database/named-trouble.js';
import type { OperationId } from './auth/scopes.js';
import { parseInput, unstorableIn } from './input.js';
import type { Streamed } from './wire/sse.js';

/** What a handler gets beside its parsed input. */
interface Context {
  readonly engine: Engine;
  readonly caller: Caller;
  /** Fires when the client is gone, or when the server closes and nobody should wait any longer. */
  readonly signal: AbortSignal;
  /** The client asked for `text/event-stream`. */
  readonly wantsEvents: boolean;
  /** The lines of the body of a route that takes them; of others none. */
  readonly lines: AsyncIterable<BatchLine>;
}

interface OpenContext {
  readonly engine: Engine;
  readonly draining: boolean;
}

export type Reply =
  | { readonly type: 'json'; readonly status?: number; readonly body: unknown; readonly location?: string }
  /** JSON values, each in a line, as they come. */
  | { readonly type: 'lines'; readonly lines: AsyncIterable<unknown> }
  | { readonly type: 'text'; readonly contentType: string; readonly text: string }
  /** Events as they come; `end` is asked for the data of the closing `end` event when all were sent. */
  | {
      readonly type: 'events';
      readonly events: AsyncIterable<Streamed>;
      readonly end: () => Promise<JsonObject>;
    };

export const json = (body: unknown): Reply => ({ type: 'json', body });
export const plain = (contentType: string, text: string): Reply => ({ type: 'text', contentType, text });

/** The parts of a request as they came. */
interface Raw {
  readonly path: unknown;
  readonly query: unknown;
  readonly header: unknown;
  readonly body: unknown;
}

interface Description {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** As OpenAPI writes it: `/api/v1/runs/{id}`. */
  readonly path: `/${string}`;
  /** Its place in the list of scopes. */
  readonly operationId: OperationId;
  readonly summary: string;
  readonly description?: string;
  /** Status of success. Default 200. */
  readonly status?: 200 | 202;
  readonly response: z.ZodType;
  /** The media type of success. Default `application/json`. */
  readonly media?: string;
  /** Other media types of success, with what they are. */
  readonly streams?: string;
  /** What its verb may throw; what every route may throw is not repeated. */
  readonly errors: readonly ErrorCode[];
  /** `lines`: the body is JSON values, one in each line, which the handler reads as they come. */
  readonly takes?: 'lines';
  /** Whether its body may hold the files of a task, which have a bound of their own. */
  readonly hasFiles?: boolean;
  /** Whether each call, also a refused one, gets a row in the access log. */
  readonly audited?: boolean;
}

export interface Route extends Description {
  /** The least role; null: no token is needed. */
  readonly role: Role | null;
  readonly pathParams: z.ZodObject;
  readonly query: z.ZodObject;
  readonly header: z.ZodObject;
  /** Only of a POST. */
  readonly body: z.ZodObject;
}

/** A route that needs a token. */
export interface GuardedRoute extends Route {
  readonly role: Role;
  /** Parses, calls one verb, answers. Throws `invalid_request` and what the verb throws. */
  readonly call: (raw: Raw, context: Context) => Promise<Reply>;
}

/** A route that anybody may call. It says nothing but whether. */
export interface OpenRoute extends Route {
  readonly role: null;
  readonly call: (context: OpenContext) => Promise<{ readonly status: number; readonly body: unknown }>;
}

/** The schemas of a route that takes nothing: spread, then replace what it does take. Unknown fields are refused. */
export const NO_INPUT = {
  pathParams: z.strictObject({}),
  query: z.strictObject({}),
  header: z.object({}),
  body: z.strictObject({}),
};

interface Input<P, Q, H, B> {
  readonly path: P;
  readonly query: Q;
  readonly header: H;
  readonly body: B;
}

interface Definition<P extends z.ZodObject, Q extends z.ZodObject, H extends z.ZodObject, B extends z.ZodObject>
  extends Route {
  readonly role: Role;
  readonly pathParams: P;
  readonly query: Q;
  readonly header: H;
  readonly body: B;
  readonly handle: (
    input: Input<z.output<P>, z.output<Q>, z.output<H>, z.output<B>>,
    context: Context,
  ) => Promise<Reply>;
}

/** Binds a handler to the schemas of its input, so that a list can hold routes of all kinds. */
export function guarded<P extends z.ZodObject, Q extends z.ZodObject, H extends z.ZodObject, B extends z.ZodObject>(
  definition: Definition<P, Q, H, B>,
): GuardedRoute {
  const { handle, ...route } = definition;
  return {
    ...route,
    call: async (raw, context) => {
      const input = {
        path: parseInput(route.pathParams, raw.path, '/path'),
        query: parseInput(route.query, raw.query, '/query'),
        header: parseInput(route.header, raw.header, '/header'),
        body: route.takes === 'lines' ? (raw.body as z.output<B>) : parseInput(route.body, raw.body, ''),
      };
      const answer = handle(input, context);
      return answer.catch(route.method === 'GET' ? blameQuery : (error) => blameBody(error, raw.body));
    },
  };
}

/** What the database did not keep, a request with a body had in it. */
function blameBody(error: unknown, body: unknown): never {
  const known = error instanceof HoldfastError ? error : namedTrouble(error);
  if (known?.code !== 'invalid_request' || known.fields.length > 0) throw error;
  const fields = unstorableIn(body, '');
  throw fields.length === 0 ? error : invalidRequest(fields);
}

/** What a verb says of its request, a GET was asked in its query. */
function blameQuery(error: unknown): never {
  if (!(error instanceof HoldfastError) || error.fields.length === 0) throw error;
  const { code, message, hint, fields } = error;
  throw new HoldfastError(code, message, {
    hint,
    cause: error,
    fields: fields.map(({ pointer, detail }) => ({ pointer: `/query${pointer}`, detail })),
  });
}
