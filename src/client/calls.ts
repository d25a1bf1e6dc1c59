import type { z } from 'zod';
import type { Operation } from '../core/operations/operation.js';
import type { OperationName, Operations } from '../core/operations/table.js';

/** The types of calls over HTTP, from the one table of operations. */

/** One text for each `{name}` of a path. */
type PathValues<Path extends string> = Path extends `${string}{${string}}${infer Rest}`
  ? [id: string, ...after: PathValues<Rest>]
  : [];

/** The names are those that the operation takes; the server checks the values. */
export type Query<Q extends z.ZodObject> = { readonly [Name in keyof Q['shape']]?: string | number | undefined };

/** What an operation takes beside its path: the query of a GET, the body of a POST. */
type Sent<O extends Operation> = O['method'] extends 'GET'
  ? [keyof O['query']['shape']] extends [never]
    ? []
    : [query?: Query<O['query']>]
  : [keyof O['body']['shape']] extends [never]
    ? []
    : Record<never, never> extends z.input<O['body']>
      ? [body?: z.input<O['body']>]
      : [body: z.input<O['body']>];

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Default 90,000. */
  readonly timeoutMs?: number;
}

export interface KeyedOptions extends CallOptions {
  /** The Idempotency-Key. */
  readonly key: string;
}

type Options<O extends Operation, Keyed> = 'idempotency-key' extends keyof O['header']['shape'] ? Keyed : CallOptions;

/** Answers to these are no single JSON value. */
type Unlike = 'submitTasks' | 'getMetrics' | 'readExportFile' | 'readArtifact';

/** A method for each operation. `Keyed`: the options of those that take an Idempotency-Key. */
export type Calls<Keyed extends CallOptions> = {
  readonly [Name in Exclude<OperationName, Unlike>]: (
    ...given: [
      ...PathValues<Operations[Name]['path']>,
      ...Sent<Operations[Name]>,
      options?: Options<Operations[Name], Keyed>,
    ]
  ) => Promise<z.output<Operations[Name]['response']>>;
};
