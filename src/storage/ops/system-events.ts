import type { Knex } from 'knex';
import { canonical, jsonObject } from '../../core/json.js';
import type { SystemEvent, SystemEventDraft, SystemEventFilter, SystemEventKind } from '../../core/log/system-event.js';
import { type Columns, json, shownLegibly, TIME } from '../database/legible-rows.js';
import { readJson } from '../database/stored-json.js';
import { inOneFlight } from '../database/transactions.js';
import { rowsOfPage } from '../runs/page-rows.js';

/** A row as the driver gives it: int8 as text. */
interface SystemEventRow {
  position: string;
  tenant: string;
  shared: boolean;
  kind: string;
  task_id: string | null;
  run_id: string | null;
  worker_id: string | null;
  data: string;
  at: Date;
}

const COLUMNS = ['position', 'tenant', 'shared', 'kind', 'task_id', 'run_id', 'worker_id', 'data', 'at'] as const;
/** What waits to be placed is placed so many at a time. */
const AT_ONCE = 1000;

const events = (db: Knex) => db<SystemEventRow>('holdfast.system_events');

/**
 * Tells what happened, in the transaction that makes it true. It has no place in the order of events before it is committed: see
 * `placeSystemEvents`. Under a key that was told already nothing is written.
 */
export async function appendSystemEvent(trx: Knex.Transaction, event: SystemEventDraft): Promise<void> {
  const { kind, tenant, data, key = null, taskId = null, runId = null, workerId = null } = event;
  await trx.raw(
    `insert into holdfast.system_events (tenant, shared, kind, key, task_id, run_id, worker_id, data)
     values (?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`,
    [tenant ?? 'default', tenant === null, kind, key, taskId, runId, workerId, canonical(data)] as Knex.RawBinding[],
  );
}

/** How far events are placed, and up to where they are gone by retention. */
export interface SystemEventHead {
  readonly position: number;
  readonly trimmed: number;
}

interface HeadRow {
  readonly position: string;
  readonly trimmed: string;
  readonly unplaced: boolean;
}

const readHeadRow = (db: Knex): Promise<HeadRow | undefined> =>
  db('holdfast.system_event_head').first(
    'position',
    'trimmed',
    db.raw('exists (select from holdfast.system_events where position is null) as unplaced'),
  );

const headOf = (row: HeadRow | undefined): SystemEventHead => ({
  position: Number(row?.position ?? 0),
  trimmed: Number(row?.trimmed ?? 0),
});

/** The one that holds the head hangs: what is placed already is read. */
const LOCK_TIMEOUT = `set local lock_timeout = '2s'`;

const PLACE = `
  with head as (select position from holdfast.system_event_head limit 1),
  unplaced as (
    select id, row_number() over (order by id) as n
      from (select id from holdfast.system_events where position is null order by id limit ?) u),
  placed as (
    update holdfast.system_events e set position = h.position + unplaced.n,
           task_id = coalesce(e.task_id, (select r.task_id from holdfast.runs r where r.id = e.run_id))
      from unplaced, head h where e.id = unplaced.id returning e.position)
  update holdfast.system_event_head set position = coalesce((select max(position) from placed), position)
  returning (select count(*)::int from placed) as placed`;

/**
 * Gives every event that is committed its place. Ids are given when a row is written, and transactions commit in another order:
 * who read by id would miss the event of a slow one. Places are given under the lock of the head, to what is committed by then, and
 * are seen in their order, so that nothing ever appears before what was read. What is told of a run is told of its task by then. Gives the end of the order.
 */
export async function placeSystemEvents(db: Knex): Promise<SystemEventHead> {
  for (;;) {
    const head = await readHeadRow(db);
    if (head?.unplaced !== true) return headOf(head);
    await db.transaction(async (trx) => {
      // The statement that places comes after the lock, so that it sees what others have placed.
      const lock = trx('holdfast.system_event_head').select('position').forUpdate();
      await inOneFlight<[object, object, object]>(trx, [trx.raw(LOCK_TIMEOUT), lock, trx.raw(PLACE, [AT_ONCE])]);
    });
  }
}

export interface ReadSystemEvents extends SystemEventFilter {
  /** Null: of all. */
  readonly tenant: string | null;
  /** Whether events of no tenant are read too. */
  readonly shared: boolean;
  /** Events after this place. */
  readonly after: number;
  readonly limit: number;
  /** Events of these kinds alone. */
  readonly kinds?: readonly SystemEventKind[];
}

type Readable = Pick<ReadSystemEvents, 'tenant' | 'shared' | 'after'>;

/** Events after a place that a tenant may read. */
function eventsOf(db: Knex, { tenant, shared, after }: Readable): Knex.QueryBuilder {
  const query = events(db).where('position', '>', after);
  if (tenant !== null)
    query.where((own) => {
      own.where({ tenant, shared: false });
      if (shared) own.orWhere({ shared: true });
    });
  return query;
}

/** How many of the next events of some kinds are too old, up to the first one that is not, and the place of the last of them. */
export async function countOldEvents(
  db: Knex,
  {
    kinds,
    olderThanMs,
    ...from
  }: Readable & { readonly kinds: readonly SystemEventKind[]; readonly olderThanMs: number },
): Promise<{ readonly events: number; readonly upTo: number }> {
  const next = () => eventsOf(db, from).whereIn('kind', [...kinds]);
  const young = next().whereRaw("at >= now() - ? * interval '1 millisecond'", [olderThanMs]).min('position');
  const row: { events: string; up_to: string | null } | undefined = await next()
    .whereRaw('position < coalesce((?), ?)', [young, Number.MAX_SAFE_INTEGER])
    .first(db.raw('count(*) as events'), db.raw('max(position) as up_to'));
  return { events: Number(row?.events ?? 0), upTo: Number(row?.up_to ?? from.after) };
}

/** A page of events that a tenant may read, in their order, and how far the order went before they were read. */
export async function readSystemEvents(
  db: Knex,
  { tenant, shared, after, limit, kind, kinds, taskId, runId }: ReadSystemEvents,
): Promise<{ readonly events: readonly SystemEvent[]; readonly more: boolean; readonly head: SystemEventHead }> {
  const head = headOf(await readHeadRow(db));
  const query = eventsOf(db, { tenant, shared, after }).select(...COLUMNS);
  if (kind !== undefined) query.where({ kind });
  if (kinds !== undefined) query.whereIn('kind', [...kinds]);
  if (taskId !== undefined) query.where({ task_id: taskId });
  if (runId !== undefined) query.where({ run_id: runId });
  const order = [{ column: 'position', order: 'asc' as const }];
  const { rows, more } = await rowsOfPage<SystemEventRow>(db, query, { order, bytes: 'octet_length(data)', limit });
  return { events: rows.map(shownEvent), more, head };
}

const COLUMNS_READ: Columns<SystemEventRow> = { data: json(jsonObject, '{}'), at: TIME };

/** One that cannot be read is told with what can be, so that it stops no one who follows. */
function shownEvent(row: SystemEventRow): SystemEvent {
  const of = { table: 'system_events', id: row.position, columns: COLUMNS_READ };
  const { view, unread } = shownLegibly(row, of, eventOf);
  return unread.length === 0 ? view : { ...view, integrity: unread };
}

const eventOf = (row: SystemEventRow): SystemEvent => ({
  ...{ seq: Number(row.position), kind: row.kind, at: row.at.toISOString() },
  tenant: row.shared ? null : row.tenant,
  ...{ taskId: row.task_id, runId: row.run_id, workerId: row.worker_id },
  data: readJson(jsonObject, row.data, { table: 'system_events', row: String(row.position), column: 'data' }),
});

/** Says that so many segments are in the queue now, if it is another number than was told last. */
export async function recordQueueDepth(trx: Knex.Transaction, queue: string): Promise<void> {
  await trx.raw(
    `with before as (select queue_depth as n from holdfast.system_event_head for update),
          now as (select count(*)::int as n from dbos.workflow_status where queue_name = ? and status = 'ENQUEUED'),
          told as (update holdfast.system_event_head h set queue_depth = now.n from now)
     insert into holdfast.system_events (shared, kind, data)
     select true, 'queue.depth_changed', json_build_object('depth', now.n, 'before', before.n)::text
       from now, before where now.n <> before.n`,
    [queue],
  );
}
