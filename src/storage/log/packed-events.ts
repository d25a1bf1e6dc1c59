import type { Knex } from 'knex';
import { OVER } from '../../core/runs/run.js';
import { parentSeq } from './read-events.js';

/** Kinds that most events of a long run are. Others are looked for by themselves, and stay rows of their own. */
const PACKED_KINDS = ['model.requested', 'model.responded', 'call.checked', 'call.started', 'call.finished'];
/** A longer payload is compressed by itself. */
const DATA_BYTES_MAX = 8192;
const EVENTS_OF_BLOCK = 128;
const EVENTS_AT_ONCE = 5000;
/** A longer log keeps its rows: one statement would hold too much of it. */
const EVENTS_OF_RUN_MAX = 20_000;
/** Fewer are not worth a block. */
const EVENTS_MIN = 8;

const HASHES = 'e.data_hash || e.state_hash_before || e.state_hash_after || e.prev_hash || e.hash';
const IN_FORM = `${HASHES} ~ '^hmac-sha256:([0-9a-f]{64}sha256:){4}[0-9a-f]{64}$'`;
const bytesOf = (column: string): string => `decode(split_part(e.${column}, ':', 2), 'hex')`;
const PACKED = `row(e.seq, e.key, e.v, e.parent_id, e.kind, e.at, e.data, ${bytesOf('data_hash')}, e.state_version,
  ${bytesOf('state_hash_before')}, ${bytesOf('state_hash_after')}, ${bytesOf('prev_hash')}, ${bytesOf('hash')},
  e.worker)::holdfast.packed_event`;

/**
 * Moves events of some runs into blocks, in one statement. These stay rows of their own: events of other kinds and the two that each
 * follows from, which lists read; the last event, and those that were entered into the log over all runs; and hashes in another form,
 * since 32 bytes would not give their text back.
 */
const PACK = `
  with places as materialized (
      select e.run_id, e.seq, ${parentSeq('e')} as parent,
             e.kind = any(:kinds) and coalesce(octet_length(e.data), 0) <= ${DATA_BYTES_MAX} and e.seq between 1 and h.seq - 1
               and e.tenant = h.tenant and ${IN_FORM} and not exists (
                 select from holdfast.log_entries l where l.run_id = e.run_id and l.seq = e.seq) as fits
        from holdfast.events e join holdfast.run_heads h on h.run_id = e.run_id
       where e.run_id = any(:ids)),
    near as materialized (
      select run_id, parent as seq from places where not fits
      union
      select b.run_id, b.parent from places p join places b on b.run_id = p.run_id and b.seq = p.parent where not p.fits),
    chosen as (
      select run_id, seq, (row_number() over (partition by run_id order by seq) - 1) / ${EVENTS_OF_BLOCK} as block,
             count(*) over (partition by run_id) as events
        from places p
       where fits and not exists (select from near n where n.run_id = p.run_id and n.seq = p.seq)),
    made as materialized (
      select e.run_id, min(e.seq) as seq, e.tenant, array_agg(${PACKED} order by e.seq) as events
        from chosen c join holdfast.events e on e.run_id = c.run_id and e.seq = c.seq
       where c.events >= ${EVENTS_MIN}
       group by e.run_id, c.block, e.tenant),
    kept as (
      insert into holdfast.packed_events (run_id, seq, tenant, events)
      select run_id, seq, tenant, events from made returning run_id, events),
    gone as (
      delete from holdfast.events e using kept k cross join lateral unnest(k.events) u
       where e.run_id = k.run_id and e.seq = u.seq)
  select count(distinct run_id)::int as runs, coalesce(sum(cardinality(events)), 0)::int as events from kept`;

const DUE = `
  select r.id, r.completed_at::text as at, coalesce(h.seq, 0) as events
    from holdfast.runs r left join holdfast.run_heads h on h.run_id = r.id
   where r.status = :status and r.completed_at is not null and r.completed_at < now() - :olderThanMs * interval '1 millisecond'
     and (r.completed_at, r.id) > (coalesce((select completed_at from holdfast.packed_to where status = :status), '-infinity'),
                                   coalesce((select run_id from holdfast.packed_to where status = :status), ''))
   order by r.completed_at, r.id limit :limit`;

interface DueRun {
  readonly id: string;
  readonly at: string;
  readonly events: number;
}

/** The first runs that have no more events together than one statement takes, and at least one. */
function firstOf(due: readonly DueRun[]): readonly DueRun[] {
  let events = 0;
  const beyond = due.findIndex((run) => {
    events += run.events;
    return events > EVENTS_AT_ONCE;
  });
  return beyond < 0 ? due : due.slice(0, Math.max(beyond, 1));
}

/** Locks runs, up to the first one that another transaction holds. Waits for none. */
async function lockedOf(trx: Knex.Transaction, runs: readonly DueRun[]): Promise<readonly DueRun[]> {
  const { rows }: { rows: { id: string }[] } = await trx.raw(
    'select id from holdfast.runs where id = any(?) order by id for no key update skip locked',
    [runs.map(({ id }) => id)],
  );
  const locked = new Set(rows.map(({ id }) => id));
  const held = runs.findIndex(({ id }) => !locked.has(id));
  return held < 0 ? runs : runs.slice(0, held);
}

const REACHED = `
  insert into holdfast.packed_to (status, completed_at, run_id) values (?, ?::timestamptz, ?)
  on conflict (status) do update set completed_at = excluded.completed_at, run_id = excluded.run_id`;

/** What one transaction packed. `more`: there may be runs that are due behind these. */
export interface Packed {
  readonly runs: number;
  readonly events: number;
  readonly more: boolean;
}

/**
 * Packs the events of the next runs that were over so long ago, those first that were over first. All or nothing: a process that dies in
 * between leaves every event where it was. A run that another transaction holds is packed later, with those after it. One whose log is odd
 * keeps its rows.
 */
export async function packNext(db: Knex, olderThanMs: number, limit: number): Promise<Packed> {
  return db.transaction(async (trx) => {
    const packed = { runs: 0, events: 0, more: false };
    for (const status of OVER) {
      const { rows: due }: { rows: DueRun[] } = await trx.raw(DUE, { status, olderThanMs, limit });
      const taken = await lockedOf(trx, firstOf(due));
      const last = taken.at(-1);
      if (last === undefined) continue;
      const ids = taken.filter(({ events }) => events <= EVENTS_OF_RUN_MAX).map(({ id }) => id);
      const { rows } = await trx.raw(PACK, { ids, kinds: PACKED_KINDS });
      packed.runs += rows[0].runs;
      packed.events += rows[0].events;
      packed.more ||= due.length === limit || taken.length < due.length;
      await trx.raw(REACHED, [status, last.at, last.id]);
    }
    return packed;
  });
}
