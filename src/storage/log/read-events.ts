import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import type { JsonValue } from '../../core/json.js';
import { EVENT_DATA, type EventData, type RunEvent } from '../../core/log/event.js';
import type { TrustLabel } from '../../core/tools/tool-memory.js';
import type { LoggedEvent } from '../../core/trajectories/step-fold.js';
import { inBreaths } from '../database/timing.js';
import { type PageRows, rowsOfPage } from '../runs/page-rows.js';
import type { EventRow } from './write-events.js';

/** Before any number of an event, also of one that was moved out of the way. */
export const BEFORE_ALL = -2_147_483_649;

/** The number of the event that another one follows from, as SQL. */
export const parentSeq = (event: string): string => `substring(${event}.parent_id, ':([0-9]{1,9})$')::int`;

const events = (db: Knex) => db<EventRow>('holdfast.all_events');

/** A stored event with its payload as it was read. `v` is whatever is stored: its hash covers it. */
export const eventWith = (row: Omit<EventRow, 'key' | 'worker'>, data: JsonValue | null): RunEvent => ({
  id: `${row.run_id}:${row.seq}`,
  v: row.v as 1,
  runId: row.run_id,
  tenant: row.tenant,
  seq: row.seq,
  parentId: row.parent_id,
  kind: row.kind,
  at: row.at,
  data,
  dataHash: row.data_hash,
  stateVersion: row.state_version,
  stateHashBefore: row.state_hash_before,
  stateHashAfter: row.state_hash_after,
  prevHash: row.prev_hash,
  hash: row.hash,
});

/** What JSON.parse gives is JSON. Throws `log_broken` for what is none. */
function dataOf({ run_id: runId, seq, data }: EventRow): JsonValue | null {
  try {
    return data === null ? null : (JSON.parse(data) as JsonValue);
  } catch (cause) {
    throw new HoldfastError('log_broken', `Event ${seq} of run ${runId} is broken: its payload is no JSON.`, { cause });
  }
}

const eventOf = (row: EventRow): RunEvent => eventWith(row, dataOf(row));

/** Id of the event that was written under a key. Throws `run_unknown` when the log has none. */
export async function eventIdOf(db: Knex, runId: string, key: string): Promise<string> {
  return `${runId}:${await seqOfKey(db, runId, key)}`;
}

/** Number of the event that was written under a key. Throws `run_unknown` when the log has none. */
export async function seqOfKey(db: Knex, runId: string, key: string): Promise<number> {
  const seq = await seqOf(db, runId, key);
  if (seq === null) throw new HoldfastError('run_unknown', `The log of run ${runId} has no event ${key}.`);
  return seq;
}

const DATA_BYTES = 'coalesce(octet_length(data), 0)';

const rowsAfter = (
  db: Knex,
  runId: string,
  after: number,
  limit: number,
  kind?: string,
): Promise<PageRows<EventRow>> => {
  // The column is an int4; what a client says it has seen may be beyond it.
  const query = events(db).where({ run_id: runId }).whereRaw('seq > ?::bigint', [after]).select('*');
  if (kind !== undefined) query.where({ kind });
  const order = [{ column: 'seq', order: 'asc' as const }];
  return rowsOfPage(db, query, { order, bytes: DATA_BYTES, limit });
};

/** One event of a log. */
export async function readEvent(db: Knex, runId: string, seq: number): Promise<RunEvent | undefined> {
  const row = await events(db).where({ run_id: runId, seq }).first();
  return row && eventOf(row);
}

/** A page of events after a sequence number, oldest first; with `kind`, of this kind. */
export async function readEvents(
  db: Knex,
  runId: string,
  after: number,
  limit: number,
  kind?: string,
): Promise<PageRows<RunEvent>> {
  const { rows, more } = await rowsAfter(db, runId, after, limit, kind);
  return { rows: rows.map(eventOf), more };
}

/** A page of events before a sequence number, newest first. */
export async function readEventsBefore(
  db: Knex,
  runId: string,
  { before, limit, kind }: { readonly before: number | null; readonly limit: number; readonly kind?: string },
): Promise<PageRows<RunEvent>> {
  const query = events(db).where({ run_id: runId }).select('*');
  if (before !== null) query.whereRaw('seq < ?::bigint', [before]);
  if (kind !== undefined) query.where({ kind });
  const order = [{ column: 'seq', order: 'desc' as const }];
  const { rows, more } = await rowsOfPage<EventRow>(db, query, { order, bytes: DATA_BYTES, limit });
  return { rows: rows.map(eventOf), more };
}

/** The place of the event that was written under a key; null: the log has none. */
export async function seqOf(db: Knex, runId: string, key: string): Promise<number | null> {
  const row = await events(db).where({ run_id: runId, key }).first('seq');
  return row?.seq ?? null;
}

/** The same, with who wrote them. */
export async function readLoggedEvents(
  db: Knex,
  runId: string,
  after: number,
  limit: number,
): Promise<PageRows<LoggedEvent>> {
  const { rows, more } = await rowsAfter(db, runId, after, limit);
  return { rows: rows.map((row) => ({ ...eventOf(row), worker: row.worker })), more };
}

/** Bytes of the payloads of whole logs, by run. */
export async function logSizes(db: Knex, runIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows: { run_id: string; bytes: string | number | null }[] = await events(db)
    .whereIn('run_id', runIds)
    .groupBy('run_id')
    .select('run_id', db.raw('sum(octet_length(data)) as bytes'));
  return new Map(rows.map(({ run_id, bytes }) => [run_id, Number(bytes ?? 0)]));
}

/** What an event tells, as a list of JSON: its payload is JSON as it stands, and nothing in our own words and hashes needs an escape. */
const TOLD = `concat('[', seq, ',"', kind, '","', at, '",', coalesce(data, 'null'), ',', state_version, ',"',
  state_hash_before, '","', state_hash_after, '","', hash, '",', coalesce(to_json(worker)::text, 'null'), ']')`;

type Told = readonly [number, string, string, JsonValue | null, number, string, string, string, string | null];

const toldBy = (told: Told): LoggedEvent => {
  const [seq, kind, at, data, stateVersion, stateHashBefore, stateHashAfter, hash, worker] = told;
  return { seq, kind, at, data, stateVersion, stateHashBefore, stateHashAfter, hash, worker };
};

function* eventsIn(log: string): Generator<void, readonly LoggedEvent[]> {
  const told: LoggedEvent[] = [];
  for (let from = 0; from < log.length; ) {
    const end = log.indexOf('\n', from);
    const to = end < 0 ? log.length : end;
    told.push(toldBy(JSON.parse(log.slice(from, to)) as Told));
    from = to + 1;
    yield;
  }
  return told;
}

/** Whole logs, by run, without what only proves them. A log is a text until it is asked for, which takes the least room. */
export async function readLogs(
  db: Knex,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, () => Promise<readonly LoggedEvent[]>>> {
  const rows: { run_id: string; log: string }[] = await events(db)
    .whereRaw('run_id = any(?)', [[...runIds]])
    .groupBy('run_id')
    .select('run_id', db.raw(`string_agg(replace(${TOLD}, e'\\n', ' '), e'\\n' order by seq) as log`));
  return new Map(rows.map(({ run_id, log }) => [run_id, () => inBreaths(eventsIn(log))]));
}

export async function readHead(
  db: Knex,
  runId: string,
): Promise<{ seq: number; hash: string; stateHash: string; moved: boolean; runKey: string | null } | undefined> {
  return db('holdfast.run_heads as h')
    .leftJoin('holdfast.run_keys as k', 'k.run_id', 'h.run_id')
    .where('h.run_id', runId)
    .select('h.seq', 'h.hash', 'h.state_hash as stateHash', 'h.moved', 'k.key as runKey')
    .first();
}

/** Where the logs of several runs end, and whether that is still to be entered into the log over all runs. */
export async function readHeads(
  db: Knex,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, { readonly seq: number; readonly moved: boolean }>> {
  const rows: { run_id: string; seq: number; moved: boolean }[] = await db('holdfast.run_heads')
    .whereRaw('run_id = any(?)', [[...runIds]])
    .select('run_id', 'seq', 'moved');
  return new Map(rows.map(({ run_id: id, seq, moved }) => [id, { seq, moved }]));
}

export async function countEvents(db: Knex, tenant: string): Promise<number> {
  const row: { n?: string | number | null } | undefined = await db('holdfast.run_heads')
    .where({ tenant })
    .sum({ n: 'seq' })
    .first();
  return Number(row?.n ?? 0);
}

/** What the log of a run says of its creation; undefined: it does not say. */
export async function creationOf(db: Knex, runId: string): Promise<EventData<'run.created'> | undefined> {
  const first = await readEvent(db, runId, 1);
  return EVENT_DATA['run.created'].safeParse(first?.data).data;
}

/** Who asked for a run, and for those that it was made of, as its log says; empty: its log does not say. */
export const requestersOf = async (db: Knex, runId: string): Promise<readonly string[]> =>
  (await creationOf(db, runId))?.requestedBy ?? [];

/** Labels of what a run was given: from the run above it, or from its session. */
export const labelsGiven = async (db: Knex, runId: string): Promise<readonly TrustLabel[]> =>
  (await creationOf(db, runId))?.labels ?? [];
