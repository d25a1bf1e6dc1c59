import type { Knex } from 'knex';
import { type FieldError, HoldfastError } from '../../core/errors/errors.js';
import { digestOf, type JsonObject, jsonObject } from '../../core/json.js';
import { differencesOf } from '../../core/tasks/registry.js';
import { readJson } from '../database/stored-json.js';

/** A definition of tasks as it is kept: canonical JSON under its hash. */
export interface KeptDefinition {
  readonly hash: string;
  readonly name: string;
  readonly version: string;
  readonly definition: string;
  readonly category: string;
  readonly difficulty: string;
}

interface DefinitionRow extends KeptDefinition {
  readonly tenant: string;
  readonly created_at: Date;
  readonly registered_by: string | null;
  readonly deprecated_reason: string | null;
}

const definitions = (db: Knex) => db<DefinitionRow>('holdfast.task_definitions');
const COLUMNS = ['hash', 'name', 'version', 'definition', 'category', 'difficulty'] as const;

/**
 * Keeps a definition, once. Gives why it is deprecated; null: it is not. Throws `task_definition_taken` where another one has its name
 * and version: results are compared within a version.
 */
export async function saveDefinition(
  trx: Knex.Transaction,
  tenant: string,
  kept: KeptDefinition,
  actor: string,
): Promise<string | null> {
  const { hash, name, version } = kept;
  const [known] = await touched(trx, tenant, hash);
  if (known !== undefined) return known.deprecated_reason;
  // Of two at once, the later one sees what the other has kept.
  await trx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [JSON.stringify([tenant, name, version])]);
  const other = await definitions(trx)
    .where({ tenant, name, version })
    .whereNot({ hash })
    .first(...COLUMNS);
  if (other !== undefined) throw taken(kept, other);
  await definitions(trx)
    .insert({ tenant, ...kept, registered_by: actor })
    .onConflict(['tenant', 'hash'])
    .ignore();
  return null;
}

const touched = (trx: Knex.Transaction, tenant: string, hash: string) =>
  definitions(trx)
    .where({ tenant, hash })
    .update({ created_at: trx.fn.now() as unknown as Date })
    .returning('deprecated_reason');

/** What is kept under a hash. Throws `row_changed` where it is not what the hash names: tasks would be judged by other tests. */
export function definitionIn({ hash, definition }: Pick<KeptDefinition, 'hash' | 'definition'>): JsonObject {
  const found = readJson(jsonObject, definition, { table: 'task_definitions', row: hash, column: 'definition' });
  const { createdAt: _made, ...named } = found;
  if (digestOf(named) === hash) return found;
  throw new HoldfastError(
    'row_changed',
    `task_definitions, row ${hash}, definition: it is another definition than the hash names.`,
    {
      hint: 'Someone changed the database. Put the definition back from a backup, or register it under a new version.',
    },
  );
}

const DIFFERENCES_SHOWN = 5;

function taken({ name, version, hash, definition }: KeptDefinition, other: KeptDefinition): HoldfastError {
  const fields = differencesOf(definitionIn(other), definitionIn({ hash, definition })).slice(0, DIFFERENCES_SHOWN);
  const where = fields.map(({ pointer }) => pointer).join(', ');
  return new HoldfastError(
    'task_definition_taken',
    `${name} of version ${version} is another definition: it is ${other.hash}, and the given one ${hash}. They differ at ${where}.`,
    { fields, hint: 'Give the changed task a new version.' },
  );
}

/** Why a deprecated definition is not submitted, and gets into no dataset. */
export const deprecated = (
  { name, version }: Pick<KeptDefinition, 'name' | 'version'>,
  reason: string,
  fields: readonly FieldError[] = [],
): HoldfastError =>
  new HoldfastError('task_definition_deprecated', `${name} of version ${version} is deprecated: ${reason}`, { fields });

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
