import type { Knex } from 'knex';
import { MIGRATIONS, type Migration } from '../../../migrations/index.js';
import { HoldfastError } from '../../core/errors/errors.js';

const SCHEMA = 'holdfast';
const TABLE = 'migrations';

export interface SchemaState {
  /** Migrations of this build that the database has, in order. */
  readonly current: string[];
  /** Those that it lacks. */
  readonly pending: string[];
  /** Those that it has and this build does not know. */
  readonly newer: string[];
}

/** What the database has of this build's migrations. Changes nothing. */
export async function schemaState(knex: Knex, migrations: readonly Migration[] = MIGRATIONS): Promise<SchemaState> {
  const { rows } = await knex.raw('select to_regclass(?) is not null as exists', [`${SCHEMA}.${TABLE}`]);
  const applied: string[] = rows[0].exists ? await knex(`${SCHEMA}.${TABLE}`).orderBy('id').pluck('name') : [];
  const has = new Set(applied);
  const known = new Set(migrations.map(({ name }) => name));
  return {
    current: migrations.map(({ name }) => name).filter((name) => has.has(name)),
    pending: migrations.map(({ name }) => name).filter((name) => !has.has(name)),
    newer: applied.filter((name) => !known.has(name)),
  };
}

/** Throws `database_newer` for migrations of a newer build. */
export function refuseNewer({ newer }: SchemaState): void {
  if (newer.length === 0) return;
  throw new HoldfastError(
    'database_newer',
    `The database has migrations that this build does not know: ${newer.join(', ')}.`,
  );
}

/**
 * Brings the schema up to this build, in one transaction: all of it or nothing. Processes that migrate at once wait for
 * one another. Throws `database_newer`, and has changed nothing then.
 */
export async function migrate(
  knex: Knex,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<{ readonly applied: string[] }> {
  return knex.transaction(async (trx) => {
    // Released with the transaction, however it ends: a crash leaves no lock behind.
    await trx.raw(`SELECT pg_advisory_xact_lock(hashtextextended('${SCHEMA}.${TABLE}', 0))`);
    const state = await schemaState(trx, migrations);
    refuseNewer(state);
    if (state.pending.length === 0) return { applied: [] };
    await trx.raw(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`);
    const [, applied]: [number, string[]] = await trx.migrate.latest({
      schemaName: SCHEMA,
      tableName: TABLE,
      migrationSource: sourceOf(migrations),
    });
    return { applied };
  });
}

const forwardOnly = async (): Promise<never> => {
  throw new HoldfastError('internal', 'Migrations only go forward.');
};

const sourceOf = (migrations: readonly Migration[]): Knex.MigrationSource<Migration> => ({
  getMigrations: async () => [...migrations],
  getMigrationName: ({ name }) => name,
  getMigration: async ({ up }) => ({ up: (knex: Knex) => up(knex), down: forwardOnly }),
});
