import type { Knex } from 'knex';
import { type LogEntry, type Loss, type LossEntry, leafOf } from '../../core/evidence/log-entry.js';
import { rootRecipe, TreeEdge } from '../../core/evidence/merkle.js';
import { readTree } from './log-tree.js';

/** The rows of the log over all runs. They are only ever added to, one writer at a time. */
export interface EntryRow {
  index: string;
  tenant: string;
  run_id: string;
  seq: number;
  hash: string;
  state_hash: string | null;
  complete: boolean | null;
  previous: string | null;
  /** Null: the entry says how far the run was. */
  loss: Loss | null;
  actor: string | null;
  reason: string | null;
  /** Of the full subtrees that end with this leaf, 64 hex digits each: the leaf, that of two leaves, and so on. */
  hashes: string;
  at: Date;
}

export const ENTRY_COLUMNS = [
  ...(['index', 'tenant', 'run_id', 'seq', 'hash', 'state_hash', 'complete', 'previous'] as const),
  ...(['loss', 'actor', 'reason', 'hashes'] as const),
];

export const entryRows = (db: Knex) => db<EntryRow>('holdfast.log_entries');

/** How many entries the log has. */
export async function logSize(db: Knex): Promise<number> {
  const last = await entryRows(db).orderBy('index', 'desc').first('index');
  return last === undefined ? 0 : Number(last.index) + 1;
}

const LOCK = "hashtextextended('holdfast.log_entries', 0)";

/** Takes the log for the rest of the transaction. False: another writer has it at this moment. */
export async function tryLockLog(trx: Knex.Transaction): Promise<boolean> {
  const { rows }: { rows: { mine: boolean }[] } = await trx.raw(`select pg_try_advisory_xact_lock(${LOCK}) as mine`);
  return rows[0]?.mine === true;
}

/** Waits for the log. It is the last that a transaction takes: the one that has it waits for nothing else. */
export async function lockLog(trx: Knex.Transaction): Promise<void> {
  await trx.raw(`select pg_advisory_xact_lock(${LOCK})`);
}

/** Adds entries under the lock of the log. Throws `log_broken`. */
export async function appendEntries(trx: Knex.Transaction, drafts: readonly (LogEntry | LossEntry)[]): Promise<void> {
  if (drafts.length === 0) return;
  const size = await logSize(trx);
  const edge = new TreeEdge(size, await readTree(trx, { nodes: rootRecipe(size).nodes, make: (hashes) => hashes }));
  const rows = drafts.map((draft) => ({
    index: edge.size,
    hashes: edge.append(leafOf(draft)).join(''),
    ...{ tenant: draft.tenant, run_id: draft.runId, seq: draft.seq, hash: draft.hash, previous: draft.previous },
    ...('loss' in draft
      ? { loss: draft.loss, actor: draft.actor, reason: draft.reason }
      : { state_hash: draft.stateHash, complete: draft.complete }),
  }));
  const list = ENTRY_COLUMNS.map((name) => `"${name}"`).join(', ');
  await trx.raw(
    `insert into holdfast.log_entries (${list}) select ${list} from json_populate_recordset(null::holdfast.log_entries, ?::json)`,
    [JSON.stringify(rows)],
  );
}
