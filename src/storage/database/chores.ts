import type { Knex } from 'knex';

/**
 * Takes a chore that is due, for so long; false: it is not, or another worker has it. Who takes it and dies leaves it to
 * the one that comes when that time is over.
 */
export async function takeChore(db: Knex, name: string, forMs: number): Promise<boolean> {
  const taken = await db('holdfast.chores')
    .where({ name })
    .where('due_at', '<=', db.fn.now())
    .update({ due_at: later(db, forMs) });
  return taken > 0;
}

/** A chore that someone asked for, of one tenant: it is due now, however often it was asked for, and gone when it is done. */
export async function askForChore(db: Knex, name: string, tenant: string): Promise<void> {
  await db('holdfast.chores')
    .insert({ name, tenant, due_at: db.fn.now() })
    .onConflict('name')
    .merge({ due_at: db.raw('least(chores.due_at, now())') });
}

/** Chores of single tenants that are due, those first that have been for longest. */
export async function askedChores(
  db: Knex,
  prefix: string,
  limit: number,
): Promise<readonly { readonly name: string; readonly tenant: string }[]> {
  return db('holdfast.chores')
    .whereRaw('starts_with(name, ?)', [prefix])
    .where('due_at', '<=', db.fn.now())
    .orderBy('due_at')
    .limit(limit)
    .select('name', 'tenant');
}

/** It is done. What was asked for again since it was taken is due, and stays. */
export async function endAskedChore(db: Knex, name: string): Promise<void> {
  await db('holdfast.chores').where({ name }).where('due_at', '>', db.fn.now()).delete();
}

/** Says when a chore is due again. */
export async function putOffChore(db: Knex, name: string, byMs: number): Promise<void> {
  await db('holdfast.chores')
    .where({ name })
    .update({ due_at: later(db, byMs) });
}

export async function choreDueAt(db: Knex, name: string): Promise<Date | null> {
  const row: { due_at: Date } | undefined = await db('holdfast.chores').where({ name }).first('due_at');
  return row?.due_at ?? null;
}

const later = (db: Knex, ms: number) => db.raw("now() + ? * interval '1 millisecond'", [ms]);
