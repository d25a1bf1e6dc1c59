import pg from 'pg';
import { HoldfastError } from '../../../core/errors/errors.js';
import { END_WITHIN_MS, within } from '../timing.js';

const CONNECT_TIMEOUT_MS = 10_000;
/** Of a connection of its own, whose statements are all short. */
const ANSWER_TIMEOUT_MS = 30_000;
const KEEPALIVE_DELAY_MS = 5_000;
/** The code of PostgreSQL for a database that is not there. */
const MISSING = '3D000';

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

/** How every connection of ours is made. A host that dies without closing its connections is noticed by keepalives. */
export const connectionTo = (url: string) => ({
  connectionString: url,
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEPALIVE_DELAY_MS,
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  application_name: 'holdfast',
});

/** Where a URL points to, without its password. */
function placeOf(client: pg.Client): string {
  return `${client.host}:${client.port}/${client.database ?? ''}`;
}

function unreachable(place: string, cause: unknown): HoldfastError {
  // A refused connection to a name with several addresses has an empty message and its errors inside.
  const inner = cause instanceof AggregateError ? cause.errors.at(0) : cause;
  const why = inner instanceof Error ? inner.message : String(inner);
  return new HoldfastError('database_unreachable', `PostgreSQL at ${place} cannot be used: ${why}`, { cause: inner });
}

/** A client whose broken connection does not end the process: its statements fail, and its `end` is told. */
export function newClient(url: string, more: pg.ClientConfig = {}): pg.Client {
  const client = new pg.Client({ ...connectionTo(url), query_timeout: ANSWER_TIMEOUT_MS, ...more });
  client.on('error', () => {});
  return client;
}

async function tryConnect(url: string): Promise<{ readonly client: pg.Client; readonly error: unknown }> {
  const client = parsed(url);
  try {
    await client.connect();
    return { client, error: null };
  } catch (error) {
    return { client, error };
  }
}

function parsed(url: string): pg.Client {
  try {
    return newClient(url);
  } catch {
    // The error of the parser holds the password.
    throw new HoldfastError(
      'config_invalid',
      'DATABASE_URL is not a URL; expected postgresql://user:password@host:port/database.',
    );
  }
}

/** Connects once. Throws `database_unreachable` and `config_invalid`. */
export async function databaseExists(url: string): Promise<boolean> {
  const { client, error } = await tryConnect(url);
  if (error === null) await client.end();
  else if (codeOf(error) !== MISSING) throw unreachable(placeOf(client), error);
  return error === null;
}

/** Connects once, and makes the database when it is missing and the user may. Throws `database_unreachable` and `config_invalid`. */
export async function ensureDatabase(url: string): Promise<void> {
  const { client, error } = await tryConnect(url);
  if (error === null) return within(END_WITHIN_MS, client.end());
  if (codeOf(error) !== MISSING) throw unreachable(placeOf(client), error);
  await createDatabase(url, placeOf(client), client.database ?? '');
}

async function createDatabase(url: string, place: string, name: string): Promise<void> {
  const { client, error } = await tryConnect(maintenanceOf(url));
  if (error !== null) throw missing(place, name, error);
  try {
    await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`);
  } catch (failure) {
    // Another process was faster.
    if (codeOf(failure) !== '42P04' && codeOf(failure) !== '23505') throw missing(place, name, failure);
  } finally {
    await client.end();
  }
}

/** The same server with the database that every server has. What names a socket has no host, and no `URL` takes it. */
const maintenanceOf = (url: string): string => url.replace(/^([a-z]+:\/\/[^/?#]*)(?:\/[^?#]*)?/i, '$1/postgres');

function missing(place: string, name: string, cause: unknown): HoldfastError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new HoldfastError(
    'database_unreachable',
    `PostgreSQL at ${place} has no database "${name}", and it could not be created: ${why}`,
    { hint: `Create it (createdb ${name}), or correct DATABASE_URL.` },
  );
}
