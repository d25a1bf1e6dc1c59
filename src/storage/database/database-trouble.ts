import type { EventEmitter } from 'node:events';
import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';

/**
 * What keeps a database from doing what it was asked, where that passes. `away`: its connection is lost, it is stopping or
 * starting, or it does not let its user in. `full`: it has no room on its disk, or in its memory. `read_only`: it takes no writes, as a replica
 * or one beyond its quota. `conflict`: another transaction was in the way, or this one had failed and no one knows why.
 */
const TROUBLES = ['away', 'full', 'read_only', 'conflict'] as const;
export type DatabaseTrouble = (typeof TROUBLES)[number];

/** Codes of PostgreSQL. */
const CODES: Readonly<Record<DatabaseTrouble, RegExp>> = {
  away: /^(08|57P|53[34]00|25P03|28|3D000)/,
  full: /^53[12]00/,
  read_only: /^25006$/,
  conflict: /^(40001|40P01|55P03|25P02)/,
};
/** What PostgreSQL has no code for, in the words of the system. */
const SAID: readonly (readonly [RegExp, DatabaseTrouble])[] = [
  [/Disk quota exceeded/, 'full'],
  [/Read-only file system/, 'read_only'],
];
/** What sockets, pg and knex say of a connection that is gone. */
const SOCKET =
  /ECONN(REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|E(HOST|NET)UNREACH|ENOTFOUND|EAI_AGAIN|ERR_STREAM_|connection (terminated|error|timeout|ended)|closed the connection|client was closed|timeout (expired|exceeded when trying to connect)|Timeout acquiring|Query read timeout/i;

/** The code of PostgreSQL for every statement of a transaction that has failed already. */
const ABORTED = '25P02';

/** Of a statement in a transaction that had failed: what it failed by, which its connection has put there. */
const reasonOf = (thrown: unknown): unknown =>
  codeOf(thrown) === ABORTED && thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;

/**
 * Gives each error of a transaction that had failed the reason of it. Statements are sent together, and which of their errors is
 * thrown first is chance. To be called before the client hears its connection.
 */
export function keepReasons(connection: EventEmitter): void {
  let first: Error | null = null;
  connection.on('errorMessage', (error: Error) => {
    if (codeOf(error) === ABORTED && first !== null) error.cause = first;
    else first ??= error;
  });
  connection.on('readyForQuery', ({ status }: { readonly status?: unknown }) => {
    if (status !== 'E') first = null;
  });
}

/** Null: the error is not one of these, and asking again would get it again. */
export function databaseTrouble(error: unknown): DatabaseTrouble | null {
  const { code, message } = (reasonOf(error) ?? {}) as { code?: unknown; message?: unknown };
  const text = `${String(code ?? '')} ${String(message ?? '')}`;
  const known = TROUBLES.find((trouble) => CODES[trouble].test(String(code ?? '')));
  const said = SAID.find(([words]) => words.test(text))?.[1];
  return known ?? said ?? (SOCKET.test(text) ? 'away' : null);
}

/** Codes of PostgreSQL for a user or a database that it does not let in any more, with what is said of each. */
const REFUSALS: Readonly<Record<string, readonly [string, string]>> = {
  '28P01': [
    'PostgreSQL refuses the password of DATABASE_URL.',
    'Give the user that password again, or correct DATABASE_URL and start again.',
  ],
  '28000': [
    'PostgreSQL does not let the user of DATABASE_URL in.',
    'Look at pg_hba.conf and at the rights of the user, or correct DATABASE_URL and start again.',
  ],
  '3D000': [
    'The database of DATABASE_URL does not exist any more.',
    'Restore it, or correct DATABASE_URL and start again.',
  ],
};

/** The code of PostgreSQL for a text that has a character of no encoding; of what Holdfast sends that is NUL alone. */
const NOT_IN_ENCODING = '22021';

const codeOf = (thrown: unknown): unknown => ((thrown ?? {}) as { readonly code?: unknown }).code;

/** What the driver threw, as an error of the table: `database_unreachable`, `database_full`, `database_read_only`, `database_busy`, or `invalid_request` for NUL in a text. Null: the database has no such trouble. */
export function namedTrouble(error: unknown): HoldfastError | null {
  if (error instanceof HoldfastError) return null;
  const thrown = reasonOf(error);
  if (codeOf(thrown) === NOT_IN_ENCODING)
    return new HoldfastError('invalid_request', 'A text holds NUL (U+0000), which the database does not keep.', {
      cause: thrown,
      hint: 'Leave the character out.',
    });
  const trouble = databaseTrouble(thrown);
  if (trouble === 'full')
    return new HoldfastError('database_full', 'The database has no room for what it was to keep.', { cause: thrown });
  if (trouble === 'read_only')
    return new HoldfastError('database_read_only', 'The database takes no writes.', { cause: thrown });
  if (trouble === 'conflict')
    return new HoldfastError('database_busy', 'The database gave up what it was asked for other work.', {
      cause: thrown,
    });
  if (trouble !== 'away') return null;
  const code = codeOf(thrown);
  const [message, hint] = (typeof code === 'string' ? REFUSALS[code] : undefined) ?? [];
  return new HoldfastError('database_unreachable', message ?? 'The database does not answer.', {
    cause: thrown,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** More than the room of rows that went before, which would be taken first. */
const ROWS = 64;
/** The code of PostgreSQL for a role that may not make temporary tables: it cannot be tried then. */
const NOT_ALLOWED = '42501';

/**
 * Has the database keep 128 kB, and give them up at once: in a temporary table of the connection, which begins empty each time, so that
 * its file has to grow. Throws what the driver throws when the database has no room, or takes no writes.
 */
export async function tryToKeep(db: Knex): Promise<void> {
  try {
    await db.transaction(async (trx) => {
      // Too short to be compressed, each of them.
      await trx.raw('create temp table if not exists holdfast_room (filler char(1900)) on commit delete rows');
      await trx.raw("insert into pg_temp.holdfast_room select '' from generate_series(1, ?)", [ROWS]);
    });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === NOT_ALLOWED)) throw error;
  }
}
