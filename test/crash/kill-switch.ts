import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { PGlite } from '@electric-sql/pglite';
import pg from 'pg';

/**
 * Kills this process with SIGKILL at one instant, named from outside: before or after the n-th statement that makes
 * something durable, right after such a statement was sent, or at a named place inside a tool or model of the test.
 */
export interface KillAt {
  readonly when: 'before' | 'sent' | 'after' | 'place' | 'stop' | 'each';
  readonly statement?: number;
  readonly place?: string;
  /** `each`: dies at the first place that is not in this file yet, and writes it there before. */
  readonly deaths?: string;
}

const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  // SIGKILL arrives in a moment; nothing may happen until then.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  throw new Error('unreachable');
};

const killAt: KillAt | null = process.env['KILL_AT'] === undefined ? null : JSON.parse(process.env['KILL_AT']);
const statementLog = process.env['STATEMENT_LOG'];

/** A place of the test's own code where the process may be told to die, or to stand still until SIGCONT. */
export function place(name: string): void {
  if (killAt?.deaths !== undefined) {
    const died = existsSync(killAt.deaths) ? readFileSync(killAt.deaths, 'utf8').split('\n') : [];
    if (died.includes(name)) return;
    appendFileSync(killAt.deaths, `${name}\n`);
    die();
  }
  if (killAt?.place !== name) return;
  if (killAt.when === 'place') die();
  if (killAt.when === 'stop') process.kill(process.pid, 'SIGSTOP');
}

/** Dies when the first run is committed and nothing of it has been executed. */
const onlyStart = process.env['ONLY_START'] === '1';
let starter: unknown;

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

function around<T>(session: unknown, text: string, send: () => T): T {
  if (!armed || !DURABLE.test(text) || (LIVELINESS.test(text) && !/insert/i.test(text))) return send();
  const index = counted++;
  if (statementLog !== undefined)
    appendFileSync(statementLog, `${index} ${text.replaceAll(/\s+/g, ' ').slice(0, 120)}\n`);
  if (onlyStart && /insert into "holdfast"."runs"/.test(text)) starter = session;
  const committed = starter !== undefined && starter === session && /^\s*commit/i.test(text);
  const hit = committed ? 'after' : killAt?.statement === index ? killAt.when : null;
  if (hit === 'before') die();
  const sent = send();
  if (hit === 'sent') setImmediate(die);
  if (hit === 'after' && sent instanceof Promise) return sent.then(die, die) as T;
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
