import type { Knex } from 'knex';

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

/** Keeps a definition, once. Of those with the same names, the one that was given last counts. */
export async function keepDefinition(trx: Knex, tenant: string, kept: KeptDefinition): Promise<void> {
  await definitions(trx)
    .insert({ tenant, ...kept })
    .onConflict(['tenant', 'hash'])
    .merge({ created_at: trx.fn.now() as unknown as Date });
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
