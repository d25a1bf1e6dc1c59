import { z } from 'zod';
import type { Caller, InstallationRole, Role } from '../caller.js';
import type { ErrorCode } from '../errors/errors.js';
import type { BatchLine } from '../tasks/batch.js';

/**
 * Who may ask for an operation. `tenant`: callers with at least this role, for what belongs to their tenant. `installation`: callers
 * with at least this role in the installation, for what concerns all tenants or the processes that serve them. `shared`: every
 * caller, for what all tenants read alike. `open`: requests without a token.
 */
export type Access = { readonly tenant: Role } | { readonly installation: InstallationRole } | 'shared' | 'open';

/** The parsed parts of a request. */
export interface Input<
  P extends z.ZodObject = z.ZodObject,
  Q extends z.ZodObject = z.ZodObject,
  H extends z.ZodObject = z.ZodObject,
  B extends z.ZodObject = z.ZodObject,
> {
  readonly path: z.output<P>;
  readonly query: z.output<Q>;
  readonly header: z.output<H>;
  readonly body: z.output<B>;
}

/** What a request brings beside its input. */
export interface Request {
  readonly caller: Caller;
  /** Fires when the client is gone, or when the server closes. */
  readonly signal: AbortSignal;
  /** The lines of the body of an operation that takes them; of others none. */
  readonly lines: AsyncIterable<BatchLine>;
}

/** What a table says of each operation. */
interface Description {
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /** Status of success. Default 200. */
  readonly status?: 200 | 202;
  /** Where what was made is read: a path with the id of the answer. */
  readonly location?: `/api/v1/${string}/{id}`;
  /** The media type of success. Default `application/json`. */
  readonly media?: 'application/x-ndjson' | 'application/octet-stream' | 'text/plain';
  /** Another media type of success, for clients that ask for it. */
  readonly streams?: 'text/event-stream';
  /** What the operation may throw; what every operation may throw is not repeated. */
  readonly errors: readonly ErrorCode[];
  /** `lines`: the body is JSON values, one in each line, which are read as they come. */
  readonly takes?: 'lines';
  /** Whether the body may hold the files of a task, which have a bound of their own. */
  readonly hasFiles?: boolean;
  /** Whether each request, also a refused one, gets a row in the access log. */
  readonly audited?: boolean;
}

export type Method = 'GET' | 'POST' | 'DELETE';

/**
 * One operation: how it is asked for over HTTP, what it takes and answers, who may ask, and which method of the engine does it. The
 * server, the client of the command line, the OpenAPI document and the pages of the reference are made from this.
 */
export interface Operation<
  M extends Method = Method,
  Path extends `/${string}` = `/${string}`,
  P extends z.ZodObject = z.ZodObject,
  Q extends z.ZodObject = z.ZodObject,
  H extends z.ZodObject = z.ZodObject,
  B extends z.ZodObject = z.ZodObject,
  R extends z.ZodType = z.ZodType,
  Calls extends string | null = string | null,
  Args extends readonly unknown[] = readonly unknown[],
> extends Description {
  readonly method: M;
  /** As OpenAPI writes it: `/api/v1/runs/{id}`. */
  readonly path: Path;
  readonly pathParams: P;
  readonly query: Q;
  readonly header: H;
  /** Only of a POST. */
  readonly body: B;
  readonly response: R;
  /** The method of the engine. Null: the one with the name of the operation. */
  readonly calls: Calls;
  /** What the method of the engine is called with. Throws `invalid_request`. */
  args(input: Input<P, Q, H, B>, request: Request): Args;
}

/** The schemas of an operation that takes nothing. Unknown fields are refused. */
export const NO_INPUT = {
  pathParams: z.strictObject({}),
  query: z.strictObject({}),
  header: z.object({}),
  body: z.strictObject({}),
};
type Nothing = typeof NO_INPUT;

interface Definition<
  M extends Method,
  Path extends `/${string}`,
  P extends z.ZodObject,
  Q extends z.ZodObject,
  H extends z.ZodObject,
  B extends z.ZodObject,
  R extends z.ZodType,
  Calls extends string | null,
  Args extends readonly unknown[],
> extends Description {
  readonly method: M;
  readonly path: Path;
  readonly pathParams?: P;
  readonly query?: Q;
  readonly header?: H;
  readonly body?: B;
  readonly response: R;
  readonly calls?: Calls;
  readonly args: (input: Input<P, Q, H, B>, request: Request) => Args;
}

/** Makes an operation; what it does not name it does not take. */
export function operation<
  const M extends Method,
  const Path extends `/${string}`,
  R extends z.ZodType,
  const Args extends readonly unknown[],
  P extends z.ZodObject = Nothing['pathParams'],
  Q extends z.ZodObject = Nothing['query'],
  H extends z.ZodObject = Nothing['header'],
  B extends z.ZodObject = Nothing['body'],
  const Calls extends string | null = null,
>(definition: Definition<M, Path, P, Q, H, B, R, Calls, Args>): Operation<M, Path, P, Q, H, B, R, Calls, Args>;
export function operation(
  definition: Definition<
    Method,
    `/${string}`,
    z.ZodObject,
    z.ZodObject,
    z.ZodObject,
    z.ZodObject,
    z.ZodType,
    string | null,
    readonly unknown[]
  >,
): Operation {
  return { ...NO_INPUT, calls: null, ...definition };
}
