import type { Knex } from 'knex';

/**
 * Takes a chore that is due, for so long; false: it is not, or another worker has it. Who takes it and dies leaves it to
 * whoever comes when that time is over.
 */
export async function takeChore(db: Knex, name: string, forMs: number): Promise<boolean> {
  const taken = await db('holdfast.chores')
    .where({ name })
    .where('due_at', '<=', db.fn.now())
    .update({ due_at: later(db, forMs) });
  return taken > 0;
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
