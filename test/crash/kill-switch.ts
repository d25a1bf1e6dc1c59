import { appendFileSync } from 'node:fs';
import { PGlite } from '@electric-sql/pglite';
import pg from 'pg';
import { die, killAt, standStill } from './place.js';

const statementLog = process.env['STATEMENT_LOG'];

const DURABLE = /^\s*(insert|update|delete|commit|create|alter|merge|with .*(insert|update|delete))/is;
const LIVELINESS = /heartbeat_at/;

let armed = false;
let counted = 0;

/** Counts from now on: what a start does before the run goes on is not of interest. */
export function arm(): void {
  armed = true;
}

const textOf = (query: unknown): string =>
  typeof query === 'string' ? query : ((query as { text?: string } | null)?.text ?? '');

let inTransaction: unknown;
/** Who stands still there goes on afterwards. */
let met = false;

/** Whether this is the statement that was named. */
function isAim(session: unknown, text: string, index: number): boolean {
  if (killAt?.text === undefined) return killAt?.statement === index;
  const isFirst = inTransaction === undefined && text.includes(killAt.text);
  if (isFirst) inTransaction = session;
  return killAt.commit ? inTransaction === session && /^\s*commit/i.test(text) : isFirst;
}

function around<T>(session: unknown, text: string, send: () => T): T {
  if (!armed || !DURABLE.test(text) || (LIVELINESS.test(text) && !/insert/i.test(text))) return send();
  const index = counted++;
  if (statementLog !== undefined)
    appendFileSync(statementLog, `${index} ${text.replaceAll(/\s+/g, ' ').slice(0, 120)}\n`);
  const hit = !met && isAim(session, text, index) ? killAt?.when : null;
  met ||= hit !== null;
  if (hit === 'before') die();
  const sent = send();
  if (hit === 'sent') setImmediate(die);
  if (hit === 'after' && sent instanceof Promise) return sent.then(die, die) as T;
  if (hit === 'stop' && sent instanceof Promise) return sent.finally(standStill) as T;
  return sent;
}

type Query = (...args: unknown[]) => unknown;

/** Puts the switch around every statement of both drivers. */
export function install(): void {
  for (const [owner, names] of [
    [pg.Client.prototype, ['query']],
    [PGlite.prototype, ['query', 'exec']],
  ] as const) {
    const target = owner as unknown as Record<string, Query>;
    for (const name of names) {
      const original = target[name] as Query;
      target[name] = function query(this: unknown, ...args: unknown[]): unknown {
        const text = textOf(args[0]);
        const [query] = args as [{ callback?: Query } | undefined];
        const answered = typeof query === 'object' ? query?.callback : undefined;
        if (query !== undefined && answered !== undefined) {
          // A query that is made already has its callback in it.
          const promised = (): Promise<unknown> =>
            new Promise((resolve) => {
              original.call(this, Object.assign(query, { callback: (...told: unknown[]) => resolve(told) }));
            });
          void (around(this, text, promised) as Promise<unknown[]>).then((told) => answered(...told));
          return query;
        }
        const callback = args.findIndex((arg) => typeof arg === 'function');
        if (callback < 0) return around(this, text, () => original.apply(this, args));
        // knex calls with a callback: the answer is what arrives there.
        const answer = args[callback] as Query;
        const promised = (): Promise<unknown> =>
          new Promise((resolve) => {
            original.apply(
              this,
              args.with(callback, (...answered: unknown[]) => resolve(answered)),
            );
          });
        const sent = around(this, text, promised) as Promise<unknown[]>;
        void sent.then((answered) => answer(...answered));
        return undefined;
      };
    }
  }
}
