import { Command } from 'commander';
import { readSettings } from '../../../config.js';
import { print } from '../../print.js';

export const migrateCommand = (): Command =>
  new Command('migrate').action(async () => {
    const { databaseUrl, dataDir } = readSettings();
    // Loaded when needed: the other commands start without a database.
    const { openDatabase } = await import('../../../storage/database/open-database.js');
    const { migrate } = await import('../../../storage/database/migrate.js');
    const database = await openDatabase({ databaseUrl, dataDir });
    try {
      const { applied } = await migrate(database.knex);
      for (const name of applied) print(`applied ${name}`);
      if (applied.length === 0) print('The database is up to date.');
    } finally {
      await database.close();
    }
  });
