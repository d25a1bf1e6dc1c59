import type { Request as HttpRequest } from 'express';
import type { z } from 'zod';
import type { Role } from '../core/caller.js';
import { HoldfastError } from '../core/errors/errors.js';
import { invalidRequest } from '../core/field-errors.js';
import type { JsonObject } from '../core/json.js';
import type { Input, Operation, Request } from '../core/operations/operation.js';
import type { Engine } from '../engine/engine.js';
import { namedTrouble } from '../storage/database/database-trouble.js';
import type { SignIns } from './auth/sign-ins.js';
import { parseInput, unstorableIn } from './input.js';
import type { Streamed } from './wire/sse.js';

/** What a handler gets beside its parsed input. */
export interface Context extends Request {
  readonly engine: Engine;
  /** The client asked for `text/event-stream`. */
  readonly wantsEvents: boolean;
}

/** What a route that needs no token gets. */
export interface OpenContext {
  readonly engine: Engine;
  readonly draining: boolean;
  readonly signIns: SignIns;
  readonly request: HttpRequest;
  /** The JSON of the body. Throws what a body that is none throws. */
  readonly body: () => Promise<unknown>;
}

interface OpenReply {
  readonly status?: number;
  readonly body: unknown;
  /** A cookie to set. */
  readonly cookie?: string;
}

export type Reply =
  | { readonly type: 'json'; readonly status?: number; readonly body: unknown; readonly location?: string }
  /** JSON values, each in a line, as they come. */
  | { readonly type: 'lines'; readonly lines: AsyncIterable<unknown> }
  | {
      readonly type: 'file';
      readonly name: string;
      readonly sizeBytes: number;
      readonly content: AsyncIterable<Uint8Array>;
    }
  | { readonly type: 'text'; readonly contentType: string; readonly text: string }
  /** Events as they come; `end` is asked for the data of the closing `end` event when all were sent. */
  | {
      readonly type: 'events';
      readonly events: AsyncIterable<Streamed>;
      readonly end: () => Promise<JsonObject>;
    };

export const json = (body: unknown) => ({ type: 'json', body }) as const satisfies Reply;

/** The parts of a request as they came. */
interface Raw {
  readonly path: unknown;
  readonly query: unknown;
  readonly header: unknown;
  readonly body: unknown;
}

export interface Route extends Omit<Operation, 'calls' | 'args'> {
  /** The name of its operation. */
  readonly operationId: string;
}

/** A route that needs a token. */
export interface GuardedRoute extends Route {
  /** Parses, calls one method of the engine, answers. Throws `invalid_request` and what the method throws. */
  readonly call: (raw: Raw, context: Context) => Promise<Reply>;
}

/** A route that anybody may call. */
export interface OpenRoute extends Route {
  readonly access: 'open';
  readonly call: (context: OpenContext) => Promise<OpenReply>;
}

/** The least role in the tenant that a route takes; null: no token is needed. */
export function leastRole({ access }: Pick<Route, 'access'>): Role | null {
  if (access === 'open') return null;
  return typeof access === 'object' && 'tenant' in access ? access.tenant : 'viewer';
}

/** What a token must be for a route, as the document and the reference say it. */
export const roleText = ({ access }: Pick<Route, 'access'>): string =>
  typeof access === 'object' && 'installation' in access
    ? `installation ${access.installation}`
    : (leastRole({ access }) ?? 'none');

interface Definition<P extends z.ZodObject, Q extends z.ZodObject, H extends z.ZodObject, B extends z.ZodObject>
  extends Route {
  readonly pathParams: P;
  readonly query: Q;
  readonly header: H;
  readonly body: B;
  readonly handle: (input: Input<P, Q, H, B>, context: Context) => Promise<Reply>;
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
