import type { Knex } from 'knex';
import { type LogEntry, leafOf } from '../core/log-entry.js';
import { rootRecipe, TreeEdge } from '../core/merkle.js';
import { OVER, type RunStatus } from '../core/run.js';
import { readTree } from './log-tree.js';

/** The rows of the log over all runs. They are only ever added to, one writer at a time. */
interface EntryRow {
  index: string;
  tenant: string;
  run_id: string;
  seq: number;
  hash: string;
  state_hash: string;
  complete: boolean;
  previous: string | null;
  /** Of the full subtrees that end with this leaf, 64 hex digits each: the leaf, that of two leaves, and so on. */
  hashes: string;
  at: Date;
}

/** An entry as it is in the log. */
export interface IndexedEntry extends LogEntry {
  /** From 0. */
  readonly index: number;
  readonly leaf: string;
  /** As stored: the leaf, and what else ends with it. */
  readonly hashes: string;
}

const COLUMNS = ['index', 'tenant', 'run_id', 'seq', 'hash', 'state_hash', 'complete', 'previous', 'hashes'] as const;
const entries = (db: Knex) => db<EntryRow>('holdfast.log_entries');

const entryOf = (row: Pick<EntryRow, (typeof COLUMNS)[number]>): IndexedEntry => ({
  v: 1,
  index: Number(row.index),
  runId: row.run_id,
  tenant: row.tenant,
  seq: row.seq,
  hash: row.hash,
  stateHash: row.state_hash,
  complete: row.complete,
  previous: row.previous,
  leaf: row.hashes.slice(0, 64),
  hashes: row.hashes,
});

export async function readEntries(db: Knex, from: number, limit: number): Promise<IndexedEntry[]> {
  const rows = await entries(db)
    .where('index', '>=', from)
    .orderBy('index')
    .limit(limit)
    .select(...COLUMNS);
  return rows.map(entryOf);
}

/** The entries of a run, oldest first. */
export async function entriesOfRun(db: Knex, runId: string): Promise<IndexedEntry[]> {
  const rows = await entries(db)
    .where({ run_id: runId })
    .orderBy('index')
    .select(...COLUMNS);
  return rows.map(entryOf);
}

/** The same of several runs, by run. */
export async function entriesOfRuns(
  db: Knex,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, readonly IndexedEntry[]>> {
  const rows = await entries(db)
    .whereRaw('run_id = any(?)', [[...runIds]])
    .orderBy('index')
    .select(...COLUMNS);
  const byRun = new Map<string, IndexedEntry[]>(runIds.map((id) => [id, []]));
  for (const row of rows) byRun.get(row.run_id)?.push(entryOf(row));
  return byRun;
}

/** How many entries the log has. */
export async function logSize(db: Knex): Promise<number> {
  const last = await entries(db).orderBy('index', 'desc').first('index');
  return last === undefined ? 0 : Number(last.index) + 1;
}

interface MovedRow {
  run_id: string;
  tenant: string;
  seq: number;
  hash: string;
  state_hash: string;
  status: RunStatus | 'none';
  last_seq: number | null;
  last_leaf: string | null;
}

/** Runs whose log has moved and that are due, from an index that has only those that moved. */
const MOVED = `
  select h.run_id, h.tenant, h.seq, h.hash, h.state_hash, h.state::json ->> 'status' as status,
         e.seq as last_seq, left(e.hashes, 64) as last_leaf
    from holdfast.run_heads h
    left join lateral (select seq, hashes, at from holdfast.log_entries where run_id = h.run_id order by seq desc limit 1) e on true
   where h.moved and h.run_id > :after and h.seq > 0
     and (e.at is null or e.at <= now() - :restMs * interval '1 millisecond' or h.state::json ->> 'status' = any(:over))
   order by h.run_id limit :limit`;

/** Whoever holds the row of a head is not waited for, and its run is looked at again: its entry is there already. */
const SETTLE = `
  update holdfast.run_heads h set moved = false
    from json_to_recordset(:heads::json) as taken(run_id text, seq int)
   where h.run_id = taken.run_id and h.seq = taken.seq
     and h.run_id in (select run_id from holdfast.run_heads where run_id = any(:ids) for no key update skip locked)`;

export interface EnterOptions {
  /** Runs after this id. */
  readonly after: string;
  readonly limit: number;
  /** A run that goes on gets no entry so soon after its last. */
  readonly restMs: number;
}

export interface Entered {
  readonly entries: number;
  /** Where to go on; null: no more runs have moved. */
  readonly after: string | null;
}

/**
 * Enters the runs that have moved into the log, in one transaction: all of a batch or nothing. Null: another worker does so
 * at this moment.
 */
export async function enterMoved(db: Knex, { after, limit, restMs }: EnterOptions): Promise<Entered | null> {
  return db.transaction(async (trx) => {
    const { rows: taken }: { rows: { mine: boolean }[] } = await trx.raw(
      `select pg_try_advisory_xact_lock(hashtextextended('holdfast.log_entries', 0)) as mine`,
    );
    if (taken[0]?.mine !== true) return null;
    const { rows }: { rows: MovedRow[] } = await trx.raw(MOVED, { after, limit, restMs, over: [...OVER] });
    if (rows.length === 0) return { entries: 0, after: null };
    // A head behind its last entry is no history that can go on; verifying the log names it.
    const fresh = rows.filter((row) => row.seq > (row.last_seq ?? 0));
    await append(trx, fresh.map(draftOf));
    const heads = rows.map(({ run_id, seq }) => ({ run_id, seq }));
    await trx.raw(SETTLE, { heads: JSON.stringify(heads), ids: rows.map((row) => row.run_id) });
    return { entries: fresh.length, after: rows.length < limit ? null : (rows.at(-1)?.run_id ?? null) };
  });
}

const draftOf = (row: MovedRow): LogEntry => ({
  v: 1,
  runId: row.run_id,
  tenant: row.tenant,
  seq: row.seq,
  hash: row.hash,
  stateHash: row.state_hash,
  complete: row.status !== 'none' && OVER.has(row.status),
  previous: row.last_leaf,
});

async function append(trx: Knex.Transaction, drafts: readonly LogEntry[]): Promise<void> {
  if (drafts.length === 0) return;
  const edge = await readEdge(trx);
  const rows = drafts.map((draft) => ({
    index: edge.size,
    hashes: edge.append(leafOf(draft)).join(''),
    ...{ tenant: draft.tenant, run_id: draft.runId, seq: draft.seq, hash: draft.hash, state_hash: draft.stateHash },
    ...{ complete: draft.complete, previous: draft.previous },
  }));
  const list = COLUMNS.map((name) => `"${name}"`).join(', ');
  await trx.raw(
    `insert into holdfast.log_entries (${list}) select ${list} from json_populate_recordset(null::holdfast.log_entries, ?::json)`,
    [JSON.stringify(rows)],
  );
}

async function readEdge(db: Knex): Promise<TreeEdge> {
  const size = await logSize(db);
  return new TreeEdge(size, await readTree(db, { nodes: rootRecipe(size).nodes, make: (hashes) => hashes }));
}
