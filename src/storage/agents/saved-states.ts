import type { Knex } from 'knex';

export async function writeSavedState(db: Knex, tenant: string, name: string, envelope: string): Promise<void> {
  await db('holdfast.saved_states')
    .insert({ tenant, name, envelope })
    .onConflict(['tenant', 'name'])
    .merge({ envelope, saved_at: db.fn.now() });
}

export async function readSavedState(db: Knex, tenant: string, name: string): Promise<string | null> {
  const row: { envelope: string } | undefined = await db('holdfast.saved_states')
    .where({ tenant, name })
    .first('envelope');
  return row?.envelope ?? null;
}

export async function removeSavedState(db: Knex, tenant: string, name: string): Promise<void> {
  await db('holdfast.saved_states').where({ tenant, name }).delete();
}
