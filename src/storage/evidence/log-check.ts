import type { Knex } from 'knex';
import type { StoredLosses } from '../../core/integrity/loss-rows.js';

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
      where e.loss is null and (v.hash is distinct from e.hash or v.state_hash_after is distinct from e.state_hash
         or v.tenant is distinct from e.tenant or r.tenant is distinct from e.tenant
         or (v.kind in ('run.completed', 'run.failed', 'run.cancelled')) is distinct from e.complete)`,
    limit,
  );

/** Entries of runs that are gone, where no later entry says who removed them. */
export const vanished = (db: Knex, limit: number): Promise<Mismatch[]> =>
  select(
    db,
    `select e.index, e.tenant, e.run_id, e.seq from holdfast.log_entries e
       left join holdfast.runs r on r.id = e.run_id
       left join holdfast.log_entries g on g.run_id = e.run_id and g.loss = 'removed'
      where r.id is null and e.loss is null
        and (g.run_id is null or g.index < e.index or g.seq < e.seq or (g.seq = e.seq and g.hash <> e.hash)
             or g.tenant <> e.tenant)`,
    limit,
  );

/** Entries that do not follow from the entry before of their run. */
export const unlinked = (db: Knex, limit: number): Promise<Mismatch[]> =>
  select(
    db,
    `select e.index, e.tenant, e.run_id, e.seq from holdfast.log_entries e
       left join lateral (select left(p.hashes, 64) as leaf, p.index, p.complete from holdfast.log_entries p
                           where p.run_id = e.run_id and p.loss is null
                             and case when e.loss is null then p.seq < e.seq else p.index < e.index end
                           order by p.seq desc limit 1) b on true
      where b.leaf is distinct from e.previous or b.index > e.index or (b.complete and e.loss is null)`,
    limit,
  );

/** Entries that say that a run has lost what is there: its row where it was removed, the key of its payloads where it was erased. */
const cameBack =
  (loss: string, table: string, column: string) =>
  (db: Knex, limit: number): Promise<Mismatch[]> =>
    select(
      db,
      `select e.index, e.tenant, e.run_id, e.seq from holdfast.log_entries e
         join holdfast.${table} t on t.${column} = e.run_id where e.loss = '${loss}'`,
      limit,
    );

export const runsBack = cameBack('removed', 'runs', 'id');
export const keysBack = cameBack('erased', 'run_keys', 'run_id');

/** A row about an erasure or removal that does not say what its entry says. */
export interface FalseLossRow {
  readonly table: string;
  readonly runId: string;
  readonly tenant: string;
  /** Null: there is no such row. */
  readonly column: string | null;
  /** Null: there is no such entry. */
  readonly index: number | null;
}

/** Of a run that was removed, its erasure may have no row. */
export async function falseLossRows(db: Knex, limit: number): Promise<FalseLossRow[]> {
  const of = (table: string, loss: string, there: string): string => `
    select '${table}' as "table", coalesce(t.run_id, e.run_id) as "runId", coalesce(e.tenant, t.tenant) as tenant, e.index::float8 as index,
           case when t.run_id is null then null when e.actor is distinct from t.actor then 'actor'
                when e.reason is distinct from t.reason then 'reason' when e.seq is distinct from t.seq then 'seq'
                when e.hash is distinct from t.hash then 'hash' else 'tenant' end as column
      from holdfast.${table} t
      full join (select distinct on (l.run_id) l.* from holdfast.log_entries l left join holdfast.${table} k on k.run_id = l.run_id
                  where l.loss = '${loss}' order by l.run_id, (l.seq = k.seq) desc, l.index) e on e.run_id = t.run_id
     where (t.actor, t.reason, t.seq, t.hash, t.tenant) is distinct from (e.actor, e.reason, e.seq, e.hash, e.tenant)
       and (t.run_id is not null or ${there})`;
  const isThere = 'exists (select from holdfast.runs r where r.id = e.run_id)';
  const { rows }: { rows: FalseLossRow[] } = await db.raw(
    `select * from (${of('erasures', 'erased', isThere)} union all ${of('removed_runs', 'removed', 'true')}) f
      order by "table", "runId" limit ?`,
    [limit],
  );
  return rows;
}

/** What rows and entries say of what some runs, which are there, have lost: both in one moment. */
export async function storedLosses(db: Knex, runIds: readonly string[]): Promise<StoredLosses[]> {
  const taken = (table: string): string =>
    `(select json_build_object('tenant', t.tenant, 'seq', t.seq, 'hash', t.hash, 'actor', t.actor, 'reason', t.reason)
        from holdfast.${table} t where t.run_id = r.id)`;
  const { rows }: { rows: StoredLosses[] } = await db.raw(
    `select r.id as "runId", exists (select from holdfast.run_keys k where k.run_id = r.id) as "hasKey",
            ${taken('erasures')} as erased, ${taken('removed_runs')} as removed,
            coalesce((select json_agg(json_build_object('index', e.index, 'loss', e.loss, 'tenant', e.tenant, 'seq', e.seq,
                                                        'hash', e.hash, 'actor', e.actor, 'reason', e.reason) order by e.index)
                        from holdfast.log_entries e where e.run_id = r.id and e.loss is not null), '[]') as entries
       from holdfast.runs r where r.id = any(?)`,
    [[...runIds]],
  );
  return rows;
}

/** Documents of memory that are there although an entry says that they were removed. */
export async function returned(db: Knex, limit: number): Promise<{ index: number; tenant: string }[]> {
  const { rows }: { rows: { index: string; tenant: string }[] } = await db.raw(
    `select e.index, e.tenant from holdfast.log_entries e join holdfast.memory_documents d on d.id = e.document
      order by e.index limit ?`,
    [limit],
  );
  return rows.map(({ index, tenant }) => ({ index: Number(index), tenant }));
}

/** Runs that have taken an entry by their own account, and have none. */
export async function unentered(db: Knex, limit: number): Promise<{ runId: string; tenant: string }[]> {
  const { rows }: { rows: { runId: string; tenant: string }[] } = await db.raw(
    `select h.run_id as "runId", h.tenant from holdfast.run_heads h
      where not h.moved and not exists (select from holdfast.log_entries e where e.run_id = h.run_id and e.seq = h.seq and e.loss is null)
      order by h.run_id limit ?`,
    [limit],
  );
  return rows;
}

/** Runs whose payloads cannot be read any more, where no entry says who erased them. */
export async function unexplained(db: Knex, limit: number): Promise<{ runId: string; tenant: string }[]> {
  const { rows }: { rows: { runId: string; tenant: string }[] } = await db.raw(
    `select r.id as "runId", r.tenant from holdfast.runs r
       left join holdfast.run_keys k on k.run_id = r.id
       left join holdfast.run_heads h on h.run_id = r.id
      where k.run_id is null
        and not exists (select from holdfast.log_entries e
                         where e.run_id = r.id and e.loss = 'erased' and e.seq = h.seq and e.hash = h.hash)
      order by r.id limit ?`,
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
