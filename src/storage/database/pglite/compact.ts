import type { Knex } from 'knex';

const CHORE = 'compact';

/** Whether something was erased or removed since the files of the database were compacted last. */
export async function isToCompact(db: Knex): Promise<boolean> {
  const { rows } = await db.raw(
    `select from holdfast.chores c
      where c.name = ? and exists (select from holdfast.log_entries e where e.loss is not null and e.run_id is not null and e.at > c.due_at)`,
    [CHORE],
  );
  return rows.length > 0;
}

export interface Compacting {
  /** Larger tables stay as they are; null: none does. */
  readonly maxBytes: number | null;
  readonly isStopping: () => boolean;
}

/**
 * Rewrites the tables of the embedded database and begins a new write-ahead log, so that its files have nothing any more of what
 * was deleted before. Whatever dies in between, doing it again is right. Gives the tables that were left out; null: it was stopped.
 */
export async function compactFiles(db: Knex, { maxBytes, isStopping }: Compacting): Promise<readonly string[] | null> {
  const { rows: started } = await db.raw('select now()::text as at');
  const { rows: tables }: { rows: { name: string; bytes: string }[] } = await db.raw(
    `select format('%I.%I', n.nspname, c.relname) as name, pg_total_relation_size(c.oid) as bytes
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind = 'r' and (n.nspname in ('holdfast', 'dbos') or c.oid = 'pg_catalog.pg_statistic'::regclass)
      order by 1`,
  );
  const left: string[] = [];
  for (const { name, bytes } of tables) {
    if (isStopping()) return null;
    if (maxBytes !== null && Number(bytes) > maxBytes) left.push(name);
    else await db.raw(`vacuum full ${name}`);
  }
  // A segment that is used again would keep what it had.
  await db.raw('set wal_recycle = off');
  for (let round = 0; round < 2; round++) {
    await db.raw('select pg_switch_wal()');
    await db.raw('checkpoint');
  }
  await db('holdfast.chores').where({ name: CHORE }).update({ due_at: started[0].at });
  return left;
}
