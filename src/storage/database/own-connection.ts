import type pg from 'pg';
import type { OwnConnection } from './database.js';
import { newClient } from './postgres/postgres-place.js';
import { inTime } from './within.js';

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
