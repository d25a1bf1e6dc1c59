import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import type { ForgottenEntry, LogEntry, LossEntry } from '../../core/evidence/log-entry.js';
import { TERMINAL_KINDS } from '../../core/log/event.js';
import type { Forgetting, GoneDocument } from '../memory/documents.js';
import { type PageRows, rowsOfPage } from '../runs/page-rows.js';
import { appendEntries, ENTRY_COLUMNS, type EntryRow, entryRows, lockLog, tryLockLog } from './log-rows.js';

interface Placed {
  /** From 0. */
  readonly index: number;
  readonly leaf: string;
  /** As stored: the leaf, and what else ends with it. */
  readonly hashes: string;
}

/** An entry as it is in the log: how far a run was. */
export type IndexedEntry = LogEntry & Placed;
/** The same of what a run has lost. */
export type IndexedLoss = LossEntry & Placed;
/** That a document of memory was removed. */
export type IndexedForgotten = ForgottenEntry & Placed;
export type IndexedAny = IndexedEntry | IndexedLoss | IndexedForgotten;

type StoredRow = Pick<EntryRow, (typeof ENTRY_COLUMNS)[number]>;

function anyEntryOf(row: StoredRow): IndexedAny {
  const placed = { index: Number(row.index), leaf: row.hashes.slice(0, 64), hashes: row.hashes };
  const { tenant, seq, previous, loss, actor, reason } = row;
  // A column of another kind of entry is in no leaf: what stands in it was written later. What is null and may not be is no entry
  // that anybody has hashed.
  if (loss === 'forgotten') {
    const others = [row.run_id, row.hash, row.state_hash, row.complete, previous];
    const document = others.every((one) => one === null) ? (row.document ?? '') : '';
    const said = { v: 1, loss, document, space: row.space ?? '', tenant, version: seq } as const;
    return { ...placed, ...said, actor: actor ?? '', reason: reason ?? '' };
  }
  const others = [row.document, row.space, ...(loss === null ? [actor, reason] : [row.state_hash, row.complete])];
  const hash = others.every((one) => one === null) ? (row.hash ?? '') : '';
  const common = { ...placed, v: 1, runId: row.run_id ?? '', tenant, seq, hash, previous } as const;
  if (loss !== null) return { ...common, loss, actor: actor ?? '', reason: reason ?? '' };
  return { ...common, stateHash: row.state_hash ?? '', complete: row.complete === true };
}

/** As `readEntries`, and no more than a page holds. */
export async function listEntryRows(
  db: Knex,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<PageRows<IndexedAny>> {
  const query = entryRows(db)
    .where('index', '>=', after)
    .select(...ENTRY_COLUMNS);
  const order = [{ column: 'index', order: 'asc' as const }];
  const { rows, more } = await rowsOfPage<StoredRow>(db, query, { order, bytes: BYTES, limit });
  return { rows: rows.map(anyEntryOf), more };
}

const BYTES = 'octet_length(hashes) + coalesce(octet_length(actor), 0) + coalesce(octet_length(reason), 0)';

export async function readEntries(db: Knex, from: number, limit: number): Promise<IndexedAny[]> {
  const rows = await entryRows(db)
    .where('index', '>=', from)
    .orderBy('index')
    .limit(limit)
    .select(...ENTRY_COLUMNS);
  return rows.map(anyEntryOf);
}

/** How far a run was, oldest first. */
export async function entriesOfRun(db: Knex, runId: string): Promise<readonly IndexedEntry[]> {
  return (await entriesOfRuns(db, [runId])).get(runId)?.entries ?? [];
}

/** What the log over all runs says of one. */
export interface EntriesOfRun {
  /** How far it was, oldest first. */
  readonly entries: readonly IndexedEntry[];
  /** What it has lost. */
  readonly losses: readonly IndexedLoss[];
  /** Documents of memory that it wrote, and that were removed. */
  readonly forgotten: readonly IndexedForgotten[];
}

/** Of several runs, by run. */
export async function entriesOfRuns(db: Knex, runIds: readonly string[]): Promise<ReadonlyMap<string, EntriesOfRun>> {
  const rows = await entryRows(db)
    .whereRaw('run_id = any(?)', [[...runIds]])
    .orderBy('index')
    .select(...ENTRY_COLUMNS);
  const none = () => ({
    ...{ entries: [] as IndexedEntry[], losses: [] as IndexedLoss[], forgotten: [] as IndexedForgotten[] },
  });
  const byRun = new Map(runIds.map((id) => [id, none()]));
  for (const row of rows) {
    const entry = anyEntryOf(row);
    const of = byRun.get(row.run_id ?? '');
    if ('document' in entry) continue;
    if ('loss' in entry) of?.losses.push(entry);
    else of?.entries.push(entry);
  }
  for (const { runId, ...row } of await forgottenRows(db, runIds)) {
    const entry = anyEntryOf(row);
    if ('document' in entry) byRun.get(runId)?.forgotten.push(entry);
  }
  return byRun;
}

async function forgottenRows(db: Knex, runIds: readonly string[]): Promise<readonly (StoredRow & { runId: string })[]> {
  const list = ENTRY_COLUMNS.map((name) => `l."${name}"`).join(', ');
  const { rows }: { rows: (StoredRow & { runId: string })[] } = await db.raw(
    `select distinct on (w.run_id, l.index) w.run_id as "runId", ${list} from holdfast.memory_writes w
       join holdfast.log_entries l on l.document = w.document where w.run_id = any(?) order by w.run_id, l.index`,
    [[...runIds]],
  );
  return rows;
}

interface MovedRow {
  run_id: string;
  tenant: string;
  seq: number;
  hash: string;
  state_hash: string;
  kind: string | null;
  last_seq: number | null;
  last_leaf: string | null;
}

/**
 * Runs whose log has moved and that are due, from an index that has only those that moved. Whether a run is over its last event
 * says: the text of its state may be anything, and one that cannot be read would keep all others from being entered.
 */
const MOVED = `
  select h.run_id, h.tenant, h.seq, h.hash, h.state_hash, v.kind,
         e.seq as last_seq, left(e.hashes, 64) as last_leaf
    from holdfast.run_heads h
    left join holdfast.events v on v.run_id = h.run_id and v.seq = h.seq
    left join lateral (select seq, hashes, at from holdfast.log_entries where run_id = h.run_id and loss is null
                         order by seq desc limit 1) e on true
   where h.moved and h.run_id > :after and h.seq > 0 and (:only::text is null or h.run_id = :only)
     and (e.at is null or e.at <= now() - :restMs * interval '1 millisecond' or v.kind = any(:over))
   order by h.run_id limit :limit`;

/** The one that holds the row of a head is not waited for, and its run is looked at again: its entry is there already. */
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
  /** This run alone. */
  readonly only?: string;
}

export interface Entered {
  readonly entries: number;
  /** Where to go on; null: no more runs have moved. */
  readonly after: string | null;
}

/** Runs whose log has moved, due or not. */
export const movedAfter = (db: Knex, after: string, limit: number): Promise<string[]> =>
  db('holdfast.run_heads')
    .where({ moved: true })
    .where('run_id', '>', after)
    .orderBy('run_id')
    .limit(limit)
    .pluck('run_id');

/**
 * Enters the runs that have moved into the log, in one transaction: all of a batch or nothing. Null: another worker does so
 * at this moment.
 */
export async function enterMoved(db: Knex, { after, limit, restMs, only }: EnterOptions): Promise<Entered | null> {
  return db.transaction(async (trx) => {
    if (!(await tryLockLog(trx))) return null;
    const { rows }: { rows: MovedRow[] } = await trx.raw(MOVED, {
      ...{ after, limit, restMs, only: only ?? null, over: [...TERMINAL_KINDS] },
    });
    if (rows.length === 0) return { entries: 0, after: null };
    // A head behind its last entry is no history that can go on; verifying the log names it.
    const fresh = rows.filter((row) => row.seq > (row.last_seq ?? 0));
    await appendEntries(trx, fresh.map(draftOf));
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
  complete: TERMINAL_KINDS.has(row.kind ?? ''),
  previous: row.last_leaf,
});

/**
 * Enters documents that were removed into the log over all runs, as the last statement of the transaction that removes them. A document
 * of an older build has no id, and no log can miss it. A log that is broken takes no entry, and keeps no one from forgetting.
 */
export async function enterForgotten(
  trx: Knex.Transaction,
  gone: readonly GoneDocument[],
  { actor, reason }: Forgetting,
): Promise<void> {
  const named = gone.flatMap(({ id, ...rest }) => (id === null ? [] : [{ ...rest, id }]));
  if (named.length === 0) return;
  await lockLog(trx);
  // Someone may have put back a document that was removed before.
  const before: (string | null)[] = await entryRows(trx)
    .whereRaw('document = any(?)', [named.map(({ id }) => id)])
    .pluck('document');
  const known = new Set<string | null>(before);
  const drafts = named
    .filter(({ id }) => !known.has(id))
    .map(
      ({ id, tenant, space, version }): ForgottenEntry => ({
        ...{ v: 1, loss: 'forgotten', document: id, space, tenant, version, actor, reason },
      }),
    );
  try {
    await appendEntries(trx, drafts);
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === 'log_broken')) throw error;
  }
}
