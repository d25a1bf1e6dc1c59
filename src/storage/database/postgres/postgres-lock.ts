import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import type { SessionLock } from '../database.js';
import { END_WITHIN_MS, within } from '../timing.js';
import { newClient } from './postgres-place.js';

const PING_EVERY_MS = 1_000;
/** Counted in pings, not in time: a process that was suspended or busy finds its answers when it goes on. */
const PINGS_MISSED_MAX = 3;
/** The server frees the lock of a host that died without closing its connection after about ten seconds. */
const SERVER_KEEPALIVES = 'SET tcp_keepalives_idle = 4; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3';
const KEY = 'hashtextextended($1, 0)';

/** Takes a session advisory lock on a connection of its own; null when another session holds it. */
export async function lockOn(url: string, name: string): Promise<SessionLock | null> {
  // By this name the session is found when its connection does not answer any more.
  const session = `holdfast:lock:${randomBytes(8).toString('hex')}`;
  const client = newClient(url, { application_name: session });
  try {
    await client.connect();
    await client.query(SERVER_KEEPALIVES);
    const { rows } = await client.query(`SELECT pg_try_advisory_lock(${KEY}) AS held`, [name]);
    if (rows[0]?.held === true) return new HeldLock(url, client, name, session);
  } catch (error) {
    await within(END_WITHIN_MS, client.end());
    throw error;
  }
  await client.end();
  return null;
}

/** What a statement on a connection of its own does. */
async function once(url: string, text: string, values: readonly unknown[]): Promise<void> {
  const client = newClient(url);
  try {
    await client.connect();
    await client.query(text, [...values]);
  } finally {
    await within(END_WITHIN_MS, client.end());
  }
}

/** Ends the session that holds a lock. Throws what the driver throws, also when the role may not. */
export const endHolderOf = (url: string, name: string): Promise<void> =>
  once(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_locks
      WHERE locktype = 'advisory' AND granted AND objsubid = 1
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND (classid::bigint << 32) | objid::bigint = ${KEY}`,
    [name],
  );

class HeldLock implements SessionLock {
  readonly name: string;
  readonly #url: string;
  readonly #client: pg.Client;
  readonly #session: string;
  readonly #listeners: (() => void)[] = [];
  readonly #pings: NodeJS.Timeout;
  #state: 'held' | 'released' | 'lost' = 'held';
  #isWaiting = false;
  #missed = 0;

  constructor(url: string, client: pg.Client, name: string, session: string) {
    this.#url = url;
    this.#session = session;
    this.#client = client;
    this.name = name;
    client.on('end', () => this.#lose());
    // A connection can be gone for minutes before its socket says so.
    this.#pings = setInterval(() => this.#ping(), PING_EVERY_MS).unref();
  }

  #ping(): void {
    if (this.#isWaiting) {
      this.#missed += 1;
      if (this.#missed >= PINGS_MISSED_MAX) this.#lose();
      return;
    }
    this.#isWaiting = true;
    this.#missed = 0;
    this.#client.query('SELECT 1').then(
      () => {
        this.#isWaiting = false;
      },
      () => this.#lose(),
    );
  }

  #lose(): void {
    clearInterval(this.#pings);
    if (this.#state !== 'held') return;
    this.#state = 'lost';
    void this.#client.end();
    for (const listener of this.#listeners) listener();
  }

  onLost(listener: () => void): void {
    if (this.#state === 'lost') listener();
    else this.#listeners.push(listener);
  }

  endSession(): Promise<void> {
    const end = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1';
    return once(this.#url, end, [this.#session]);
  }

  /** When it resolves the lock is free; a server that ends the connection some time later would not do for a successor. */
  async release(): Promise<void> {
    clearInterval(this.#pings);
    if (this.#state !== 'held') return;
    this.#state = 'released';
    await within(END_WITHIN_MS, this.#client.query(`SELECT pg_advisory_unlock(${KEY})`, [this.name])).catch(() => {});
    await within(END_WITHIN_MS, this.#client.end());
  }
}
