import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { MIGRATIONS, type Migration } from '../../../../migrations/index.js';
import { HoldfastError } from '../../../core/errors/errors.js';
import type { Database, DatabaseOptions } from '../database.js';
import { refuseNewer, schemaState } from '../migrate.js';
import { openDatabase } from '../open-database.js';
import { databaseExists } from '../postgres/postgres-place.js';

/**
 * Opens a database that is there, at the schema of this build; null: there is none, or nothing of ours is in it. Makes and migrates nothing.
 * Throws `database_older` and `database_newer`, and what opening it throws.
 */
export async function openExisting(
  options: DatabaseOptions,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<Database | null> {
  const { databaseUrl, dataDir } = options;
  const isThere = databaseUrl === null ? existsSync(join(dataDir, 'pg')) : await databaseExists(databaseUrl);
  if (!isThere) return null;
  const database = await openAlone(options);
  try {
    const state = await schemaState(database.knex, migrations);
    refuseNewer(state);
    if (state.current.length > 0 && state.pending.length > 0)
      throw new HoldfastError(
        'database_older',
        `The database lacks migrations of this build: ${state.pending.join(', ')}.`,
      );
    if (state.current.length > 0) return database;
  } catch (error) {
    await database.close();
    throw error;
  }
  await database.close();
  return null;
}

async function openAlone(options: DatabaseOptions): Promise<Database> {
  try {
    return await openDatabase(options);
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== 'data_dir_in_use') throw error;
    throw new HoldfastError(error.code, error.message, {
      cause: error,
      hint: 'One process owns an embedded database: stop the server, look, and start the new build.',
    });
  }
}
