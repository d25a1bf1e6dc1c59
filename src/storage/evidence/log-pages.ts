import type { Knex } from 'knex';
import { jsonOrNull } from '../../core/json.js';
import type { LoggedEvent } from '../../core/log/check-log.js';
import type { RunStatus } from '../../core/runs/run.js';
import { eventWith, parentSeq } from '../log/read-events.js';
import type { EventRow } from '../log/write-events.js';
import { type PageRows, rowsOfPage } from '../runs/page-rows.js';
import { decodeCursor, placeBy } from '../runs/run-list.js';

/** What a log is verified against: what the row of its run, its head and its key say. */
export interface ClaimRow {
  readonly id: string;
  readonly tenant: string;
  readonly status: RunStatus;
  readonly output: string | null;
  readonly error: string | null;
  readonly cancel_reason: string | null;
  /** Null: the head was removed. */
  readonly seq: number | null;
  readonly hash: string | null;
  readonly state: string | null;
  readonly state_hash: string | null;
  /** Null: the key was erased. */
  readonly key: string | null;
  readonly erased_at: Date | string | null;
  readonly place: string;
}

export const claims = (db: Knex) =>
  db('holdfast.runs as r')
    .leftJoin('holdfast.run_heads as h', 'h.run_id', 'r.id')
    .leftJoin('holdfast.run_keys as k', 'k.run_id', 'r.id')
    .select('r.id', 'r.tenant', 'r.status', 'r.output', 'r.error', 'r.cancel_reason', 'r.erased_at')
    .select('h.seq', 'h.hash', 'h.state', 'h.state_hash', 'k.key', placeBy(db, 'r.created_at'));

/** In one statement, so that a run which is over has a head that knows it. */
export const readClaim = (db: Knex, tenant: string, id: string): Promise<ClaimRow | undefined> =>
  claims(db).where({ 'r.tenant': tenant, 'r.id': id }).first();

export interface ClaimFilter {
  readonly tenant: string;
  readonly status?: RunStatus;
  readonly agent?: string;
  readonly limit: number;
  readonly cursor?: string;
}

/** A page of runs, newest first, and one more row when there is a next page. */
export async function listClaims(db: Knex, { tenant, status, agent, limit, cursor }: ClaimFilter): Promise<ClaimRow[]> {
  const query = claims(db)
    .where({ 'r.tenant': tenant })
    .orderBy([
      { column: 'r.created_at', order: 'desc' },
      { column: 'r.id', order: 'desc' },
    ])
    .limit(limit + 1);
  if (status !== undefined) query.where({ 'r.status': status });
  if (agent !== undefined) query.where({ 'r.agent': agent });
  if (cursor === undefined) return query;
  const { at, id } = decodeCursor(cursor);
  return query.whereRaw('(r.created_at, r.id) < (?::timestamptz, ?)', [at, id]);
}

const COLUMNS = `run_id, seq, tenant, v, parent_id, kind, at, data, data_hash, state_version, state_hash_before, state_hash_after,
  prev_hash, hash`;

const DATA_BYTES = 'coalesce(octet_length(data), 0)';

type Stored = Omit<EventRow, 'key' | 'worker'>;

/** A page of events of a log after a number, oldest first, as they are stored. */
export async function readLogPage(
  db: Knex,
  runId: string,
  after: number,
  limit: number,
): Promise<PageRows<LoggedEvent>> {
  const query = db('holdfast.all_events').where({ run_id: runId }).whereRaw('seq > ?::bigint', [after]);
  const terms = { order: [{ column: 'seq', order: 'asc' as const }], bytes: DATA_BYTES, limit };
  const { rows, more } = await rowsOfPage<Stored>(db, query.select(db.raw(COLUMNS)), terms);
  return { rows: rows.map(loggedOf), more };
}

/** The logs of several runs, one after the other, each in its order: a page of so many events. */
export async function readLogs(db: Knex, runIds: readonly string[], limit: number): Promise<PageRows<LoggedEvent>> {
  const query = db('holdfast.all_events').whereRaw('run_id = any(?)', [[...runIds]]);
  const order = ['run_id', 'seq'].map((column) => ({ column, order: 'asc' as const }));
  const { rows, more } = await rowsOfPage<Stored>(db, query.select(db.raw(COLUMNS)), {
    order,
    bytes: DATA_BYTES,
    limit,
  });
  return { rows: rows.map(loggedOf), more };
}

/** The first events of a log and those under some keys, in its order, and the key of its payloads. */
export async function eventsByKeys(
  db: Knex,
  runId: string,
  first: number,
  keys: readonly string[],
): Promise<{ readonly events: readonly LoggedEvent[]; readonly runKey: string | null }> {
  const { rows }: { rows: (Stored & { run_key: string | null })[] } = await db.raw(
    `select ${COLUMNS}, (select k.key from holdfast.run_keys k where k.run_id = e.run_id) as run_key
       from holdfast.all_events e where run_id = ? and (seq <= ? or key = any(?)) order by seq`,
    [runId, first, [...keys]],
  );
  return { events: rows.map(loggedOf), runKey: rows[0]?.run_key ?? null };
}

interface HeadRow {
  readonly head_seq: number;
  readonly head_hash: string;
  readonly head_state: string;
}

/** The head of a log and the event that it is of, in one moment. Undefined: the head, or that event, is not there. */
export async function headAndLast(
  db: Knex,
  runId: string,
): Promise<
  | {
      readonly head: { readonly seq: number; readonly hash: string; readonly state: string };
      readonly last: LoggedEvent;
    }
  | undefined
> {
  const { rows }: { rows: (Stored & HeadRow)[] } = await db.raw(
    `select h.seq as head_seq, h.hash as head_hash, h.state as head_state, e.*
       from holdfast.run_heads h cross join lateral (
         select ${COLUMNS} from holdfast.all_events e where e.run_id = h.run_id and e.seq = h.seq limit 1) e
      where h.run_id = ?`,
    [runId],
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  const { head_seq: seq, head_hash: hash, head_state: state, ...stored } = row;
  return { head: { seq, hash, state }, last: loggedOf(stored) };
}

/** Which events of a run are read beside the first ones: those under keys with the two that each follows from, and maybe the last one. */
export interface WantedEvents {
  readonly runId: string;
  readonly keys: readonly string[];
  readonly last: boolean;
}

/**
 * An event for each row n, found by an index: a plan that was made while there were few events must not read all of them later. Names come
 * as JSON: the planner then expects the same number whatever there is, and the connection keeps the plan.
 */
const ONE_EACH = (found: string): string =>
  `cross join lateral (
     select e.run_id, e.seq, e.parent_id from holdfast.all_events e where e.run_id = n.run_id and ${found} limit 1) e`;

/** Of a payload that is longer, and is wanted short, nothing is read. */
const SHORT_BYTES = 16_384;
const LONG = `octet_length(data) > ${SHORT_BYTES} and (seq <= ? or kind in ('run.completed', 'run.failed'))`;
const SHORT_COLUMNS = `${COLUMNS.replace(' data,', ` case when ${LONG} then null else data end as data,`)}, ${LONG} as is_long`;

/**
 * `isLong`: nothing of its payload was read. `digests`: the database says that its payload is what was committed to. Its large members
 * are empty, and these are their digests.
 */
export type WantedEvent = LoggedEvent & { readonly isLong: boolean; readonly digests?: Digests | null };
export type Digests = { readonly [member: string]: string };

/**
 * Some events of several logs, by run and in the order of each, each found by an index. `short`: without the payloads of the first ones
 * and of the end where these are long.
 */
export async function wantedEvents(
  db: Knex,
  wanted: readonly WantedEvents[],
  { first, short }: { readonly first: number; readonly short: boolean },
): Promise<ReadonlyMap<string, readonly WantedEvent[]>> {
  const keyed = wanted.flatMap(({ runId, keys }) => keys.map((key) => ({ run_id: runId, key })));
  const { rows }: { rows: (Stored & { is_long?: boolean | null })[] } = await db.raw(
    `with named as (
       select e.run_id, e.seq, e.parent_id from json_to_recordset(?::json) as n (run_id text, key text) ${ONE_EACH('e.key = n.key')}),
     before as (select e.run_id, e.seq, e.parent_id from named n ${ONE_EACH(`e.seq = ${parentSeq('n')}`)}),
     places as (
       select run_id, seq from named union select run_id, seq from before
       union select b.run_id, ${parentSeq('b')} from before b
       union select r, s from json_array_elements_text(?::json) r cross join generate_series(1, ${Math.trunc(first)}) s
       union select h.run_id, h.seq from json_array_elements_text(?::json) r cross join lateral (
         select run_id, seq from holdfast.run_heads h where h.run_id = r limit 1) h)
     select ${short ? SHORT_COLUMNS : COLUMNS}
       from places as n (r, s) cross join lateral (
         select ${COLUMNS} from holdfast.all_events e where e.run_id = n.r and e.seq = n.s limit 1) e
      order by run_id, seq`,
    [
      ...[JSON.stringify(keyed), JSON.stringify(wanted.map(({ runId }) => runId))],
      JSON.stringify(wanted.flatMap(({ runId, last }) => (last ? [runId] : []))),
      ...(short ? [first, first] : []),
    ],
  );
  const byRun = new Map<string, WantedEvent[]>(wanted.map(({ runId }) => [runId, []]));
  for (const row of rows) byRun.get(row.run_id)?.push({ ...loggedOf(row), isLong: row.is_long === true });
  return byRun;
}

export const loggedOf = (row: Stored): LoggedEvent => ({
  // What is no JSON any more is no payload either: its hash does not fit, and the shape of its kind is another.
  ...eventWith(row, row.data === null ? null : jsonOrNull(row.data)),
  dataText: row.data,
});
