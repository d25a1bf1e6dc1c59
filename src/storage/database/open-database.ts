import type { Database, DatabaseOptions } from './database.js';
import { openPostgres } from './postgres/postgres.js';

/** Opens the database; throws `database_unreachable`, `database_corrupt` or `data_dir_in_use`. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  // Loaded where it is needed: a process with a PostgreSQL starts sooner.
  if (options.databaseUrl === null) return (await import('./pglite/pglite.js')).openPglite(options.dataDir);
  return openPostgres(options.databaseUrl, options.poolSize ?? 20);
}
