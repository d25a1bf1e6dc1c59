import { Command } from 'commander';
import { readSettings } from '../../../config.js';
import { misuse } from '../../options.js';
import { print } from '../../print.js';

export const compactCommand = (): Command =>
  new Command('compact').action(async () => {
    const { databaseUrl, dataDir } = readSettings();
    if (databaseUrl !== null)
      throw misuse(
        'compact is for the embedded database. On PostgreSQL autovacuum does it, and VACUUM FULL: see docs/operate/retention.md.',
      );
    // Loaded when needed: the other commands start without a database.
    const { openDatabase } = await import('../../../storage/database/open-database.js');
    const { compactFiles } = await import('../../../storage/database/pglite/compact.js');
    const { migrate } = await import('../../../storage/database/migrate.js');
    const database = await openDatabase({ databaseUrl, dataDir });
    try {
      await migrate(database.knex);
      await compactFiles(database.knex, { maxBytes: null, isStopping: () => false });
      print(`The files of the database in ${dataDir} have nothing any more of what was deleted.`);
    } finally {
      await database.close();
    }
  });
