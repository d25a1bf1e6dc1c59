import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import { differencesOf } from '../../core/tasks/task-differences.js';

/** A definition of tasks as it is kept: canonical JSON under its hash. */
export interface KeptDefinition {
  readonly hash: string;
  readonly name: string;
  readonly version: string;
  readonly definition: string;
}

const definitions = (db: Knex) =>
  db<KeptDefinition & { tenant: string; created_at: Date }>('holdfast.task_definitions');
const COLUMNS = ['hash', 'name', 'version', 'definition'] as const;

/**
 * Keeps a definition, once. Throws `task_definition_taken` where another one has its name and version: results are compared within a
 * version.
 */
export async function saveDefinition(trx: Knex.Transaction, tenant: string, kept: KeptDefinition): Promise<void> {
  const { hash, name, version } = kept;
  if ((await touched(trx, tenant, hash)) > 0) return;
  // Of two at once, the later one sees what the other has kept.
  await trx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [JSON.stringify([tenant, name, version])]);
  const other = await definitions(trx).where({ tenant, name, version }).whereNot({ hash }).first('definition');
  if (other !== undefined) throw taken(kept, other.definition);
  await definitions(trx)
    .insert({ tenant, ...kept })
    .onConflict(['tenant', 'hash'])
    .ignore();
}

const touched = (trx: Knex.Transaction, tenant: string, hash: string): Promise<number> =>
  definitions(trx)
    .where({ tenant, hash })
    .update({ created_at: trx.fn.now() as unknown as Date });

const DIFFERENCES_SHOWN = 5;

function taken({ name, version, definition }: KeptDefinition, other: string): HoldfastError {
  const fields = differencesOf(JSON.parse(other), JSON.parse(definition)).slice(0, DIFFERENCES_SHOWN);
  const where = fields.map(({ pointer }) => pointer).join(', ');
  return new HoldfastError(
    'task_definition_taken',
    `${name} of version ${version} is another definition: it differs at ${where}.`,
    { fields, hint: 'Give the changed task a new version.' },
  );
}

/** The last one of these names; undefined: there is none. */
export const findDefinition = (
  db: Knex,
  tenant: string,
  { name, version }: Pick<KeptDefinition, 'name' | 'version'>,
): Promise<KeptDefinition | undefined> =>
  definitions(db)
    .where({ tenant, name, version })
    .orderBy('created_at', 'desc')
    .first(...COLUMNS);

/** Undefined: there is none. */
export const readDefinition = (db: Knex, tenant: string, hash: string): Promise<KeptDefinition | undefined> =>
  definitions(db)
    .where({ tenant, hash })
    .first(...COLUMNS);
