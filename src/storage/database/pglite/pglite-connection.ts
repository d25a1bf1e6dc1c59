import { AsyncResource } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import pg from 'pg';
import { HoldfastError } from '../../../core/errors/errors.js';
import { keepReasons } from '../database-trouble.js';
import { PgliteArbiter } from './pglite-arbiter.js';
import type { DatabaseUser } from './pglite-lease.js';
import type { PgliteSession, TransactionStatus } from './pglite-session.js';
import { type Bind, type Describe, type Execute, listenCommand, type Message, type Send } from './pglite-wire.js';

/**
 * The protocol end of one virtual connection: `pg.Client` talks to it as to its socket. Collects the messages of one
 * statement up to its sync and hands them to the arbiter. Names of statements are the session's, which connections share.
 */
class PgliteConnection extends EventEmitter {
  readonly stream = { destroy: (): void => this.end() };
  /** Read by `pg.Client`. */
  _connecting = false;
  readonly #session: PgliteSession;
  readonly #arbiter: PgliteArbiter;
  readonly #channels = new Set<string>();
  readonly #stopNotifications: () => void;
  /** Statements that were sent before the one at work was answered. */
  readonly #waiting: (() => void)[] = [];
  #isAtWork = false;
  #text = '';
  #sends: Send[] = [];

  constructor(session: PgliteSession, user: DatabaseUser) {
    super();
    this.#session = session;
    this.#arbiter = new PgliteArbiter(session, user);
    this.#stopNotifications = session.onNotification((message) => {
      if (typeof message.channel !== 'string' || !this.#channels.has(message.channel)) return;
      session.outside(() => this.emit(message.name, message));
    });
  }

  /** Always empty: the session knows what is prepared. */
  get parsedStatements(): Record<string, string> {
    return {};
  }

  get submittedNamedStatements(): Record<string, string> {
    return {};
  }

  connect(): void {
    this._connecting = true;
    process.nextTick(() => this.emit('readyForQuery', { status: 'I' }));
  }

  query(text: string): void {
    this.#text = text;
    this.#sends.push((wire) => wire.query(text));
    this.#submit();
  }

  parse(query: { readonly text: string }): void {
    this.#text = query.text;
    this.#sends.push((wire) => wire.parse(query.text));
  }

  /** Throws at once for a value that cannot be sent, as `pg.Client` expects. */
  bind({ values = [], valueMapper, ...config }: Bind): void {
    const mapped = valueMapper === undefined ? values : values.map(valueMapper);
    this.#sends.push((wire) => wire.bind({ ...config, values: mapped }));
  }

  describe(message: Describe): void {
    this.#sends.push((wire) => wire.describe(message));
  }

  execute(message: Execute): void {
    this.#sends.push((wire) => wire.execute(message));
  }

  /** Only sent after a value that could not be bound; unnamed statements need no closing. */
  close(): void {}

  sync(): void {
    this.#sends.push((wire) => wire.sync());
    this.#submit();
  }

  flush(): void {
    throw new HoldfastError('internal', 'The embedded database does not page through the rows of a statement.');
  }

  sendCopyFail(message: string): void {
    this.#session.interject((wire) => wire.copyFail(message));
  }

  ref(): void {}

  unref(): void {}

  end(): void {
    this.#stopNotifications();
    this.abandon();
    process.nextTick(() => this.emit('end'));
  }

  /** Rolls back what is open: the client is given back to its pool. */
  abandon(): void {
    void this.#arbiter.abandon();
  }

  #submit(): void {
    const statement = this.#listening({ text: this.#text, sends: this.#sends });
    this.#sends = [];
    // An error goes with the end of its statement: a client must not be idle in its pool before it is ready again.
    let failure: unknown = null;
    const emit = (message: Message): void => {
      if (message.name === 'error') failure ??= message;
      else this.emit(message.name, message);
    };
    const finish = (status: TransactionStatus): void => {
      const next = this.#waiting.shift();
      this.#isAtWork = next !== undefined;
      if (failure !== null) this.emit('errorMessage', failure);
      this.emit('readyForQuery', { status });
      next?.();
    };
    const execute = (): void => {
      this.#arbiter.submit(statement, emit).then(finish, (error: unknown) => {
        failure = error;
        finish('I');
      });
    };
    // One that waits goes on in the async context of who sent it, which says where it stands.
    if (this.#isAtWork) this.#waiting.push(AsyncResource.bind(execute));
    else execute();
    this.#isAtWork = true;
  }

  /** The session goes on listening for the others when one connection does not want to any more. */
  #listening(statement: { readonly text: string; readonly sends: readonly Send[] }) {
    const command = listenCommand(statement.text);
    if (command === null) return statement;
    if (command.listen && command.channel !== null) {
      this.#channels.add(command.channel);
      return statement;
    }
    if (command.channel === null) this.#channels.clear();
    else this.#channels.delete(command.channel);
    const send: Send = (wire) => wire.query('UNLISTEN holdfast_nobody');
    return { text: statement.text, sends: [send] };
  }
}

/** Virtual connections cost nothing: a transaction that waits for the session must not keep others from a connection. */
const CONNECTIONS_MAX = 10_000;

type Connected = (error: Error | undefined, client: pg.PoolClient | undefined, done: () => void) => void;

/** A `pg.Pool` whose clients share PGlite's session: no socket, no wire, otherwise pg as it is. */
export class PglitePool extends pg.Pool {
  constructor(session: PgliteSession, user: DatabaseUser) {
    const connections = new WeakMap<pg.ClientBase, PgliteConnection>();
    class Client extends pg.Client {
      constructor() {
        const connection = new PgliteConnection(session, user);
        // What is sent before an answer waits in the connection: pg will not keep it in the client any more.
        const config = { application_name: 'holdfast', connection, pipeline: true };
        super(config);
        keepReasons(connection);
        connections.set(this, connection);
      }
    }
    super({ Client, max: CONNECTIONS_MAX, allowExitOnIdle: true });
    this.on('release', (_error, client) => connections.get(client)?.abandon());
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Connected): void;
  // `pool.query` goes this way too. pg calls back in the async context of the one that set a client free; the promise keeps
  // that of the caller, which says where its statement stands.
  override connect(callback?: Connected): Promise<pg.PoolClient> | undefined {
    const connected = super.connect();
    if (callback === undefined) return connected;
    connected.then(
      (client) => callback(undefined, client, () => client.release()),
      (error: Error) => callback(error, undefined, () => {}),
    );
    return undefined;
  }
}
