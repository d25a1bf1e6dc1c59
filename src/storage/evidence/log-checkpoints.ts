import type { Knex } from 'knex';

/** What a checkpoint is stored as. Its signature says whether it is one: who can write to the table can write anything into it. */
export interface StoredCheckpoint {
  readonly size: number;
  readonly note: string;
  readonly at: Date;
}

interface CheckpointRow {
  size: string;
  root: string;
  note: string;
  at: Date;
}

/** Older ones are where they were written to outside. */
const KEPT = 10_000;

const checkpoints = (db: Knex) => db<CheckpointRow>('holdfast.log_checkpoints');

/** Keeps a checkpoint; of one size there is one. */
export async function saveCheckpoint(
  db: Knex,
  { size, root, note }: { readonly size: number; readonly root: string; readonly note: string },
): Promise<void> {
  await checkpoints(db)
    .insert({ size: String(size), root, note })
    .onConflict('size')
    .ignore();
  await checkpoints(db)
    .where('size', '<=', checkpoints(db).orderBy('size', 'desc').offset(KEPT).limit(1).select('size'))
    .delete();
}

/** The newest first. */
export async function newestCheckpoints(db: Knex, limit: number): Promise<StoredCheckpoint[]> {
  const rows = await checkpoints(db).orderBy('size', 'desc').limit(limit).select('size', 'note', 'at');
  return rows.map(({ size, note, at }) => ({ size: Number(size), note, at }));
}
