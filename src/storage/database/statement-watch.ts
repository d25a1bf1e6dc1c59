import { PGlite } from '@electric-sql/pglite';
import pg from 'pg';

/** Is put around each statement: `session` is its connection. */
export type AroundStatement = <T>(session: unknown, text: string, send: () => T) => T;

type Query = (...args: unknown[]) => unknown;

const textOf = (query: unknown): string =>
  typeof query === 'string' ? query : ((query as { text?: string } | null)?.text ?? '');

/** Puts something around every statement of both drivers in this process, for good: crash tests end the process there. */
export function watchStatements(around: AroundStatement): void {
  for (const [owner, names] of [
    [pg.Client.prototype, ['query']],
    [PGlite.prototype, ['query', 'exec']],
  ] as const) {
    const target = owner as unknown as Record<string, Query>;
    for (const name of names) target[name] = watched(target[name] as Query, around);
  }
}

const watched = (original: Query, around: AroundStatement): Query =>
  function query(this: unknown, ...args: unknown[]): unknown {
    const text = textOf(args[0]);
    const [made] = args as [{ callback?: Query } | undefined];
    const answered = typeof made === 'object' ? made?.callback : undefined;
    if (made !== undefined && answered !== undefined) {
      // A query that is made already has its callback in it.
      const promised = (): Promise<unknown> =>
        new Promise((resolve) => {
          original.call(this, Object.assign(made, { callback: (...told: unknown[]) => resolve(told) }));
        });
      void (around(this, text, promised) as Promise<unknown[]>).then((told) => answered(...told));
      return made;
    }
    const callback = args.findIndex((arg) => typeof arg === 'function');
    if (callback < 0) return around(this, text, () => original.apply(this, args));
    // knex calls with a callback: the answer is what arrives there.
    const answer = args[callback] as Query;
    const promised = (): Promise<unknown> =>
      new Promise((resolve) => {
        original.apply(
          this,
          args.with(callback, (...told: unknown[]) => resolve(told)),
        );
      });
    const sent = around(this, text, promised) as Promise<unknown[]>;
    void sent.then((told) => answer(...told));
    return undefined;
  };

const DURABLE = /^\s*(insert|update|delete|commit|create|alter|merge|with .*(insert|update|delete))/is;
const LIVELINESS = /heartbeat_at/;

/** Whether a statement makes something durable that is of a run. */
export const isDurable = (text: string): boolean =>
  DURABLE.test(text) && !(LIVELINESS.test(text) && !/insert/i.test(text));
