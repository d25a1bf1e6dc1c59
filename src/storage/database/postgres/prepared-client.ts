import type { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import { databaseTrouble, keepReasons } from '../database-trouble.js';
import { KEPT_MAX, statementName } from '../statement-names.js';

interface Statement {
  readonly text: string;
  readonly values: unknown[];
}

/** A text with values and nothing else; undefined: it is handed on as it came. */
function statementOf(config: unknown, values: unknown): Statement | undefined {
  if (typeof config === 'string') return isFull(values) ? { text: config, values } : undefined;
  if (typeof config !== 'object' || config === null || Array.isArray(values)) return undefined;
  const { text, values: inside, ...more } = config as { readonly text?: unknown; readonly values?: unknown };
  return typeof text === 'string' && isFull(inside) && Object.keys(more).length === 0
    ? { text, values: inside }
    : undefined;
}

const isFull = (values: unknown): values is unknown[] => Array.isArray(values) && values.length > 0;

type Answered = (error: Error | null, result: unknown) => void;

/** The code of PostgreSQL for insufficient resources. */
const NO_ROOM = { code: '53000' };

/** As knex opens a transaction, also one of another isolation level. */
const BEGIN = /^BEGIN(?: TRANSACTION(?: ISOLATION LEVEL [a-z ]{1,20})?(?: READ ONLY)?)?;$/;

const ROLLED_BACK = { command: 'ROLLBACK', rowCount: null, rows: [] };

/** What a transaction did on a connection that is lost, the server has rolled back: that must not hide why it was to be. */
const rolledBack =
  (told: Answered): Answered =>
  (error, result) =>
    error !== null && databaseTrouble(error) === 'away' ? told(null, ROLLED_BACK) : told(error, result);

const textOf = (config: unknown): unknown =>
  typeof config === 'object' && config !== null && 'text' in config ? config.text : config;

/** A client that lets the server parse and plan each statement with values once per connection, not each time. */
export class PreparedClient extends pg.Client {
  readonly #kept = new Set<string>();

  constructor(config?: string | pg.ClientConfig) {
    super(config);
    // Before pg hears of it.
    keepReasons(this.#connection);
    this.#connection.on('errorMessage', (error: Error) => {
      if (databaseTrouble(error) === 'read_only') this.#mayWriteLater(error);
    });
  }

  /**
   * What takes no writes does so later. DBOS asks again for what it knows to pass, and reads that in the cause. A session that began
   * read-only stays so: the next statement gets a new one.
   */
  #mayWriteLater(error: Error): void {
    error.cause = NO_ROOM;
    setImmediate(() => this.#stream.destroy());
  }

  // pg overloads `query` by what is left out; what comes is handed on as it came.
  override query(config: unknown, values?: unknown, callback?: unknown): never {
    if (this.#isPipelined) this.#gather();
    const whole = textOf(config);
    if (this.#isPipelined && typeof values === 'function' && typeof whole === 'string' && BEGIN.test(whole))
      return this.#begin(whole, values as Answered);
    if (whole === 'ROLLBACK' && callback === undefined) return this.#rollBack(config, values);
    const statement = statementOf(config, values);
    const name = statement && this.#nameOf(statement.text);
    if (statement === undefined || name === undefined)
      return super.query(config as string, values as never, callback as never) as never;
    const told = [values, callback].find((one) => typeof one === 'function') as Answered | undefined;
    // Made here, since pg copies a configuration before it makes the same of it.
    const query = Object.assign(new pg.Query(statement.text, statement.values), { name });
    if (told !== undefined) return super.query(Object.assign(query, { callback: told })) as never;
    return new Promise((resolve, reject) => {
      const answered: Answered = (error, result) => (error ? reject(error) : resolve(result));
      super.query(Object.assign(query, { callback: answered }));
    }) as never;
  }

  #rollBack(config: unknown, told: unknown): never {
    if (typeof told === 'function') return super.query(config as string, rolledBack(told as Answered)) as never;
    return new Promise((resolve, reject) => {
      void super.query(
        config as string,
        rolledBack((error, result) => (error ? reject(error) : resolve(result))),
      );
    }) as never;
  }

  /** The name under which this connection keeps the plan of a statement; undefined: it is planned each time. */
  #nameOf(text: string): string | undefined {
    const name = statementName(text);
    if (name === undefined || this.#kept.has(name)) return name;
    if (this.#kept.size >= KEPT_MAX) return undefined;
    this.#kept.add(name);
    return name;
  }

  /** Whether statements are sent before those before them are answered. */
  get #isPipelined(): boolean {
    return 'pipeline' in this && this.pipeline === true;
  }

  get #connection(): EventEmitter & { readonly stream: Duplex } {
    return (this as unknown as { readonly connection: EventEmitter & { readonly stream: Duplex } }).connection;
  }

  get #stream(): Duplex {
    return this.#connection.stream;
  }

  /** What is sent before anything else has its turn leaves in one piece: each piece is a system call, and wakes the server. */
  #gather(): void {
    const stream = this.#stream;
    if (stream.writableCorked > 0) return;
    stream.cork();
    process.nextTick(() => stream.uncork());
  }

  /**
   * No one waits for the beginning of a transaction: it leaves together with the first statement. Where it fails, what follows
   * must not be kept by itself: the connection goes.
   */
  #begin(text: string, told: Answered): never {
    void super.query(text, (error: Error | undefined) => {
      if (error) this.#stream.destroy();
    });
    process.nextTick(told, null, { command: 'BEGIN', rowCount: null, rows: [] });
    return undefined as never;
  }
}
