import type pg from 'pg';
import type { SessionLock } from './database.js';
import { newClient } from './postgres-place.js';
import { END_WITHIN_MS, within } from './within.js';

const PING_EVERY_MS = 1_000;
/** Counted in pings, not in time: a process that was suspended or busy finds its answers when it goes on. */
const PINGS_MISSED_MAX = 3;
/** The server frees the lock of a host that died without closing its connection after about ten seconds. */
const SERVER_KEEPALIVES = 'SET tcp_keepalives_idle = 4; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3';
const KEY = 'hashtextextended($1, 0)';

/** Takes a session advisory lock on a connection of its own; null when another session holds it. */
export async function lockOn(url: string, name: string): Promise<SessionLock | null> {
  const client = newClient(url);
  try {
    await client.connect();
    await client.query(SERVER_KEEPALIVES);
    const { rows } = await client.query(`SELECT pg_try_advisory_lock(${KEY}) AS held`, [name]);
    if (rows[0]?.held === true) return new HeldLock(client, name);
  } catch (error) {
    await client.end();
    throw error;
  }
  await client.end();
  return null;
}

class HeldLock implements SessionLock {
  readonly name: string;
  readonly #client: pg.Client;
  readonly #listeners: (() => void)[] = [];
  readonly #pings: NodeJS.Timeout;
  #state: 'held' | 'released' | 'lost' = 'held';
  #isWaiting = false;
  #missed = 0;

  constructor(client: pg.Client, name: string) {
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

  /** When it resolves the lock is free; a server that ends the connection some time later would not do for a successor. */
  async release(): Promise<void> {
    clearInterval(this.#pings);
    if (this.#state !== 'held') return;
    this.#state = 'released';
    await within(END_WITHIN_MS, this.#client.query(`SELECT pg_advisory_unlock(${KEY})`, [this.name])).catch(() => {});
    await within(END_WITHIN_MS, this.#client.end());
  }
}
