import type { Duplex } from 'node:stream';
import type pg from 'pg';
import type { Pool } from 'pg';
import { newClient } from './postgres/postgres-place.js';
import { PreparedClient } from './postgres/prepared-client.js';
import { END_WITHIN_MS, within } from './timing.js';

export interface Patience {
  readonly lookEveryMs: number;
  /** For a connection, and for an answer over it. */
  readonly askWithinMs: number;
}
const PATIENCE: Patience = { lookEveryMs: 5_000, askWithinMs: 10_000 };

/** Counted in looks, not in time: a process that was suspended or busy finds its answers when it goes on. */
const SILENT_CHECKS = 3;
/** Behind a pooler the server does not know a connection by its number; it is ended after so many looks. */
const UNKNOWN_CHECKS = 12;

const STATES = 'select pid, state from pg_stat_activity where pid = any($1) and application_name = $2';

type Client = pg.Client & { readonly processID?: number | null };

interface Waiting {
  bytes: number;
  checks: number;
}

const streamOf = (client: pg.Client): Duplex & { readonly bytesRead?: number } =>
  (client as unknown as { readonly connection: { readonly stream: Duplex } }).connection.stream;

/**
 * Watches connections that wait for an answer. About those that hear nothing it asks over a new connection: where the server does not
 * answer there, or does not work on the statement any more, no answer will ever come, and the connection is ended. A statement that
 * takes long goes on.
 */
export class SilentConnections {
  readonly #url: string;
  /** The server's name for the connections. */
  readonly #name: string;
  readonly #patience: Patience;
  readonly #waiting = new Map<Client, Waiting>();
  #timer: NodeJS.Timeout | undefined;
  #isAsking = false;

  constructor(url: string, name: string, patience = PATIENCE) {
    this.#url = url;
    this.#name = name;
    this.#patience = patience;
  }

  /** Clients that are watched. */
  readonly Client: new (config?: string | pg.ClientConfig) => PreparedClient = ((watch: SilentConnections) =>
    class extends PreparedClient {
      constructor(config?: string | pg.ClientConfig) {
        super(config);
        for (const event of ['drain', 'end', 'error'] as const) this.on(event, () => watch.#rests(this));
      }

      override query(config: unknown, values?: unknown, callback?: unknown): never {
        watch.#waits(this);
        return super.query(config, values, callback);
      }
    })(this);

  #waits(client: Client): void {
    if (this.#waiting.has(client)) return;
    this.#waiting.set(client, { bytes: streamOf(client).bytesRead ?? 0, checks: 0 });
    this.#timer ??= setInterval(() => this.#look(), this.#patience.lookEveryMs).unref();
  }

  #rests(client: Client): void {
    if (!this.#waiting.delete(client) || this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const silent: Client[] = [];
    for (const [client, waiting] of this.#waiting) {
      const bytes = streamOf(client).bytesRead ?? 0;
      waiting.checks = bytes === waiting.bytes ? waiting.checks + 1 : 0;
      waiting.bytes = bytes;
      if (waiting.checks >= SILENT_CHECKS) silent.push(client);
    }
    if (silent.length > 0 && !this.#isAsking) void this.#ask(silent);
  }

  async #ask(silent: readonly Client[]): Promise<void> {
    this.#isAsking = true;
    try {
      const states = await this.#states(silent);
      for (const client of silent) {
        const { bytes, checks } = this.#waiting.get(client) ?? { bytes: -1, checks: 0 };
        // It has heard something meanwhile.
        if (bytes !== streamOf(client).bytesRead) continue;
        const state = states?.get(client.processID ?? 0);
        const isLost = states === null || (state === undefined ? checks >= UNKNOWN_CHECKS : state.startsWith('idle'));
        if (isLost) streamOf(client).destroy(new Error('connection terminated: it gave no answer'));
      }
    } finally {
      this.#isAsking = false;
    }
  }

  /** What the server does for each of these connections; null: it does not answer. */
  async #states(silent: readonly Client[]): Promise<ReadonlyMap<number, string> | null> {
    const asking = newClient(this.#url, { connectionTimeoutMillis: this.#patience.askWithinMs });
    let states: Map<number, string> | null = null;
    const asked = (async () => {
      await asking.connect();
      const pids = silent.map(({ processID }) => processID ?? 0);
      const { rows } = await asking.query<{ pid: number; state: string | null }>(STATES, [pids, this.#name]);
      states = new Map(rows.map(({ pid, state }) => [pid, state ?? '']));
    })();
    await within(
      this.#patience.askWithinMs,
      asked.catch(() => {}),
    );
    void within(END_WITHIN_MS, asking.end()).catch(() => {});
    return states;
  }
}

type Connected = (error: Error, client: undefined, done: () => void) => void;

/**
 * From now on a pool gives no one a connection, and who waits for one still gets it: `end` would leave those waiting forever
 * that asked in the same moment.
 */
export function refuseConnections(pool: Pool): void {
  const refusal = () => new Error('This process has stopped, and its pool gives no connection any more.');
  const connect = (callback?: Connected): Promise<never> | undefined => {
    if (callback === undefined) return Promise.reject(refusal());
    callback(refusal(), undefined, () => {});
    return undefined;
  };
  Object.assign(pool, { connect });
}
