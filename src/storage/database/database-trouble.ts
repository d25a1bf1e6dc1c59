/**
 * What keeps a database from doing what it was asked, where that passes. `away`: its connection is lost, it is stopping or
 * starting, or it does not let its user in. `full`: it has no room on its disk, or in its memory. `read_only`: it takes no writes, as a replica
 * or one beyond its quota. `conflict`: another transaction was in the way.
 */
const TROUBLES = ['away', 'full', 'read_only', 'conflict'] as const;
export type DatabaseTrouble = (typeof TROUBLES)[number];

/** Codes of PostgreSQL. */
const CODES: Readonly<Record<DatabaseTrouble, RegExp>> = {
  away: /^(08|57P|53300|25P03|28|3D000)/,
  full: /^53[12]00/,
  read_only: /^25006$/,
  conflict: /^(40001|40P01|55P03)/,
};
/** What PostgreSQL has no code for, in the words of the system. */
const SAID: readonly (readonly [RegExp, DatabaseTrouble])[] = [
  [/Disk quota exceeded/, 'full'],
  [/Read-only file system/, 'read_only'],
];
/** What sockets, pg and knex say of a connection that is gone. */
const SOCKET =
  /ECONN(REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|E(HOST|NET)UNREACH|ENOTFOUND|EAI_AGAIN|ERR_STREAM_|connection (terminated|error|timeout|ended)|closed the connection|client was closed|timeout (expired|exceeded when trying to connect)|Timeout acquiring|Query read timeout/i;

/** Null: the error is not one of these, and asking again would get it again. */
export function databaseTrouble(error: unknown): DatabaseTrouble | null {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  const text = `${String(code ?? '')} ${String(message ?? '')}`;
  const known = TROUBLES.find((trouble) => CODES[trouble].test(String(code ?? '')));
  const said = SAID.find(([words]) => words.test(text))?.[1];
  return known ?? said ?? (SOCKET.test(text) ? 'away' : null);
}
