import type { Knex } from 'knex';

/** Where the log over all runs and the logs of runs do not say the same. At most so many, in the order of the entries. */

export interface Mismatch {
  readonly index: number;
  readonly tenant: string;
  readonly runId: string;
  readonly seq: number;
}

interface MismatchRow {
  index: string;
  tenant: string;
  run_id: string;
  seq: number;
}

const mismatchOf = ({ index, tenant, run_id, seq }: MismatchRow): Mismatch => ({
  index: Number(index),
  tenant,
  runId: run_id,
  seq,
});

async function select(db: Knex, sql: string, limit: number): Promise<Mismatch[]> {
  const { rows }: { rows: MismatchRow[] } = await db.raw(`${sql} order by e.index limit ?`, [limit]);
  return rows.map(mismatchOf);
}

/** Entries whose event says something else, or is not there although its run is. */
export const changedSince = (db: Knex, limit: number): Promise<Mismatch[]> =>
  select(
    db,
    `select e.index, e.tenant, e.run_id, e.seq from holdfast.log_entries e
       join holdfast.runs r on r.id = e.run_id
       left join holdfast.events v on v.run_id = e.run_id and v.seq = e.seq
      where v.hash is distinct from e.hash or v.state_hash_after is distinct from e.state_hash
         or v.tenant is distinct from e.tenant or r.tenant is distinct from e.tenant
         or (v.kind in ('run.completed', 'run.failed', 'run.cancelled')) is distinct from e.complete`,
    limit,
  );

/** Entries of runs that are gone, and that nobody has removed by a command after them. */
export const vanished = (db: Knex, limit: number): Promise<Mismatch[]> =>
  select(
    db,
    `select e.index, e.tenant, e.run_id, e.seq from holdfast.log_entries e
       left join holdfast.runs r on r.id = e.run_id
       left join holdfast.removed_runs g on g.run_id = e.run_id
      where r.id is null
        and (g.run_id is null or g.seq < e.seq or (g.seq = e.seq and g.hash <> e.hash) or g.tenant <> e.tenant)`,
    limit,
  );

/** Entries that do not follow from the entry before of their run. */
export const unlinked = (db: Knex, limit: number): Promise<Mismatch[]> =>
  select(
    db,
    `select e.index, e.tenant, e.run_id, e.seq from holdfast.log_entries e
       left join lateral (select left(p.hashes, 64) as leaf, p.index, p.complete from holdfast.log_entries p
                           where p.run_id = e.run_id and p.seq < e.seq order by p.seq desc limit 1) b on true
      where b.leaf is distinct from e.previous or b.index > e.index or b.complete`,
    limit,
  );

/** Runs that have taken an entry by their own account, and have none. */
export async function unentered(db: Knex, limit: number): Promise<{ runId: string; tenant: string }[]> {
  const { rows }: { rows: { runId: string; tenant: string }[] } = await db.raw(
    `select h.run_id as "runId", h.tenant from holdfast.run_heads h
      where not h.moved and not exists (select from holdfast.log_entries e where e.run_id = h.run_id and e.seq = h.seq)
      order by h.run_id limit ?`,
    [limit],
  );
  return rows;
}

/** An event that an entry commits to, as it is by now. */
export interface CommittedEvent {
  readonly runId: string;
  readonly seq: number;
  readonly hash: string;
  readonly stateHash: string;
  readonly kind: string;
}

/** What the events say that entries commit to. */
export async function eventsAt(
  db: Knex,
  entries: readonly { readonly runId: string; readonly seq: number }[],
): Promise<CommittedEvent[]> {
  const { rows }: { rows: CommittedEvent[] } = await db.raw(
    `select e.run_id as "runId", e.seq, e.hash, e.state_hash_after as "stateHash", e.kind
       from unnest(?::text[], ?::int[]) as wanted (run_id, seq)
       join holdfast.events e on e.run_id = wanted.run_id and e.seq = wanted.seq`,
    [entries.map(({ runId }) => runId), entries.map(({ seq }) => seq)],
  );
  return rows;
}
