import type pg from 'pg';
import type { OwnConnection } from '../database.js';
import { END_WITHIN_MS, inTime, within } from '../timing.js';
import { newClient } from './postgres-place.js';

const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 5_000;

/**
 * Listens on a connection of its own. A lost connection is made again, with growing pauses; what was notified meanwhile is
 * lost, as LISTEN has it. Resolves to the way out when it listens for the first time.
 */
export async function listenOn(
  url: string,
  channel: string,
  onPayload: (payload: string) => void,
): Promise<() => Promise<void>> {
  const listener = new Listener(url, channel, onPayload);
  await listener.open();
  return () => listener.stop();
}

class Listener {
  readonly #url: string;
  readonly #channel: string;
  readonly #onPayload: (payload: string) => void;
  #client: pg.Client | null = null;
  #timer: NodeJS.Timeout | null = null;
  #pauseMs = RETRY_MIN_MS;
  #stopped = false;

  constructor(url: string, channel: string, onPayload: (payload: string) => void) {
    this.#url = url;
    this.#channel = channel;
    this.#onPayload = onPayload;
  }

  async open(): Promise<void> {
    const client = newClient(this.#url);
    client.on('notification', (message) => this.#onPayload(message.payload ?? ''));
    try {
      await client.connect();
      await client.query(`LISTEN ${client.escapeIdentifier(this.#channel)}`);
    } catch (error) {
      await within(END_WITHIN_MS, client.end());
      throw error;
    }
    if (this.#stopped) return client.end();
    this.#pauseMs = RETRY_MIN_MS;
    this.#client = client;
    client.on('end', () => this.#again());
  }

  #again(): void {
    this.#client = null;
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.open().catch(() => this.#again());
    }, this.#pauseMs).unref();
    this.#pauseMs = Math.min(this.#pauseMs * 2, RETRY_MAX_MS);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#client !== null) await within(END_WITHIN_MS, this.#client.end());
  }
}

/** A statement that takes longer has failed, and its connection with it. */
const ANSWER_WITHIN_MS = 3_000;

/** One connection of PostgreSQL that no other work of the process uses. It is made when it is needed, and again after a failure. */
export class PostgresOwnConnection implements OwnConnection {
  readonly #url: string;
  readonly #session: string;
  #client: pg.Client | null = null;
  #connected: Promise<unknown> = Promise.resolve();

  constructor(url: string, session: string) {
    this.#url = url;
    this.#session = session;
  }

  async query<Row>(text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    const client = this.#client ?? this.#make();
    try {
      return await inTime(ANSWER_WITHIN_MS, async () => {
        await this.#connected;
        return (await client.query(text, [...values])).rows as Row[];
      });
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  #make(): pg.Client {
    const client = newClient(this.#url, {
      application_name: this.#session,
      connectionTimeoutMillis: ANSWER_WITHIN_MS,
    });
    this.#client = client;
    this.#connected = client.connect();
    return client;
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    // A connection that does not answer any more does not say that it has ended, either.
    void client?.end().catch(() => undefined);
  }
}
