import type { Knex } from 'knex';

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
