import { signal } from '@preact/signals';
import { keepPreviousData, QueryClient, QueryObserver, type QueryObserverResult } from '@tanstack/query-core';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { type Asked, ask, isSignedOut, NoAnswerError, ProblemError } from './ask.js';

/** One cache for all pages: what one of them learns, all show. */
export const cache = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 1000,
      gcTime: 300_000,
      networkMode: 'always',
      retry: (count, error) => error instanceof NoAnswerError && count < 2,
    },
  },
});

/** Since when the server has given no answer; null: it answers. */
export const silentSince = signal<number | null>(null);
/** Whether the server does not know who asks any more. */
export const signedOut = signal(false);

cache.getQueryCache().subscribe((event) => {
  if (event.type !== 'updated') return;
  const { status, fetchStatus, fetchFailureReason } = event.query.state;
  if (fetchFailureReason instanceof NoAnswerError) silentSince.value ??= Date.now();
  else if (status === 'success' && fetchStatus === 'idle') silentSince.value = null;
  // A query keeps its error until it is answered: only a new one counts, since a sign-in may have come between.
  if (event.action.type === 'error' && isSignedOut(event.action.error)) signedOut.value = true;
});

/** Why something on the screen is not up to date although the server answers; null: it is. */
export const refusal = signal<ProblemError | null>(null);

cache.getQueryCache().subscribe(() => {
  const refused = cache.getQueryCache().findAll({
    type: 'active',
    predicate: ({ state: { status, data, error } }) =>
      status === 'error' && data !== undefined && error instanceof ProblemError,
  });
  const error = refused[0]?.state.error;
  refusal.value = error instanceof ProblemError ? error : null;
});

const SOONEST_MS = 250;

interface Times {
  readonly dataUpdatedAt: number;
  readonly errorUpdatedAt: number;
}

/** Counted from the last answer, so that one poll serves all that ask the same. */
function nextReadIn({ state: { dataUpdatedAt, errorUpdatedAt } }: { readonly state: Times }, every: number | false) {
  const last = Math.max(dataUpdatedAt, errorUpdatedAt);
  return every === false || last === 0 ? every : Math.max(SOONEST_MS, every - (Date.now() - last));
}

export interface Source<T> {
  readonly path: string;
  readonly query?: Asked['query'];
  /** Milliseconds between two reads while the page is in sight; false: it is read once. */
  readonly every?: number | false;
  /** Null: nothing is asked. */
  readonly enabled?: boolean;
  /** Whether the answer to the question before is shown until the next one comes, as where a time goes on. */
  readonly keeps?: boolean;
  readonly read?: (path: string, asked: Asked) => Promise<T>;
}

export const keyOf = ({ path, query }: Pick<Source<unknown>, 'path' | 'query'>): readonly unknown[] => [
  ...path.split('/'),
  query ?? {},
];

/** What the server says under an address, kept up to date. */
export function useAnswer<T>(source: Source<T>): QueryObserverResult<T> {
  const { path, query, every = false, enabled = true, keeps = false, read = ask<T> } = source;
  const options = {
    queryKey: keyOf(source),
    queryFn: ({ signal: aborted }: { readonly signal: AbortSignal }) =>
      read(path, { signal: aborted, ...(query === undefined ? {} : { query }) }),
    refetchInterval: (asked: { readonly state: Times }) => nextReadIn(asked, every),
    enabled,
    ...(keeps ? { placeholderData: keepPreviousData } : {}),
  };
  const observer = useMemo(() => new QueryObserver<T>(cache, options), []);
  observer.setOptions(options);
  const [, draw] = useState({});
  useEffect(() => observer.subscribe(() => draw({})), [observer]);
  return observer.getOptimisticResult({ ...cache.defaultQueryOptions<T>(options), _optimisticResults: 'optimistic' });
}

/** Reads again what a page shows under an address and below it, and drops the old answers that no page shows now. */
export const readAgain = (path: string): void => {
  const queryKey = path.split('/');
  cache.removeQueries({ queryKey, type: 'inactive' });
  void cache.invalidateQueries({ queryKey });
};

export { ProblemError };
