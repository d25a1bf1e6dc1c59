import { createEngine } from '../../src/index.js';
import { openDatabase } from '../../src/storage/database/open-database.js';

/**
 * Starts an engine once on the database of the environment: what it leaves is what tests copy. In a copy the hourly retention must not
 * become due amid a test because the copied database is an hour old.
 */
const place = { databaseUrl: process.env['DATABASE_URL'] ?? null, dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '' };
const engine = await createEngine({ agents: [], workerId: 'first', ...place });
await engine.stop();
const database = await openDatabase(place);
const never = database.knex.raw("now() + interval '100 years'");
await database.knex('holdfast.chores').where({ name: 'retention' }).update({ due_at: never });
if (database.kind === 'pglite') {
  // More than half of the files are of databases that a new one would be made of. No one makes one in a copy.
  await database.knex.raw('update pg_database set datistemplate = false');
  for (const name of ['template0', 'template1']) await database.knex.raw(`drop database ${name}`);
}
await database.close();
process.exit(0);
