import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import { type AnyEntry, leafOf, type TakenAway } from '../../core/evidence/log-entry.js';
import { type Recipe, rootRecipe, TreeEdge } from '../../core/evidence/merkle.js';

/** The rows of the log over all runs. They are only ever added to, one writer at a time. */
export interface EntryRow {
  index: string;
  tenant: string;
  /** Null: it is of a document of memory. */
  run_id: string | null;
  /** Of a document: its version. */
  seq: number;
  hash: string | null;
  state_hash: string | null;
  complete: boolean | null;
  previous: string | null;
  /** Null: the entry says how far the run was. */
  loss: TakenAway['loss'] | null;
  actor: string | null;
  reason: string | null;
  /** Id of a document of memory that was removed; null: the entry is of a run. */
  document: string | null;
  space: string | null;
  /** Of the full subtrees that end with this leaf, 64 hex digits each: the leaf, that of two leaves, and so on. */
  hashes: string;
  at: Date;
}

export const ENTRY_COLUMNS = [
  ...(['index', 'tenant', 'run_id', 'seq', 'hash', 'state_hash', 'complete', 'previous'] as const),
  ...(['loss', 'actor', 'reason', 'hashes', 'document', 'space'] as const),
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

const ROWS_AT_ONCE = 1000;
const LIST = ENTRY_COLUMNS.map((name) => `"${name}"`).join(', ');
const INSERT = `insert into holdfast.log_entries (${LIST})
  select ${LIST} from json_populate_recordset(null::holdfast.log_entries, ?::json)`;

/** Adds entries under the lock of the log. Throws `log_broken`. */
export async function appendEntries(trx: Knex.Transaction, drafts: readonly AnyEntry[]): Promise<void> {
  if (drafts.length === 0) return;
  const size = await logSize(trx);
  const edge = new TreeEdge(size, await readTree(trx, { nodes: rootRecipe(size).nodes, make: (hashes) => hashes }));
  for (let from = 0; from < drafts.length; from += ROWS_AT_ONCE) {
    const rows = drafts.slice(from, from + ROWS_AT_ONCE).map((draft) => ({
      ...{ index: edge.size, hashes: edge.append(leafOf(draft)).join('') },
      ...columnsOf(draft),
    }));
    await trx.raw(INSERT, [JSON.stringify(rows)]);
  }
}

function columnsOf(draft: AnyEntry) {
  if ('document' in draft) {
    const { loss, document, space, tenant, version, actor, reason } = draft;
    return { tenant, seq: version, loss, actor, reason, document, space };
  }
  const { tenant, runId: run_id, seq, hash, previous } = draft;
  const common = { tenant, run_id, seq, hash, previous };
  if (!('loss' in draft)) return { ...common, state_hash: draft.stateHash, complete: draft.complete };
  return { ...common, loss: draft.loss, actor: draft.actor, reason: draft.reason };
}

/** Reads the hashes of the tree over the log that a proof or a root is made of. Throws `log_broken` where one is missing. */
export async function readTree<T>(db: Knex, recipe: Recipe<T>): Promise<T> {
  const wanted = recipe.nodes.map(({ level, position }) => ({ level, leaf: (position + 1) * 2 ** level - 1 }));
  const rows: { index: string; hashes: string }[] =
    wanted.length === 0
      ? []
      : await db('holdfast.log_entries')
          .whereRaw('index = any(?)', [wanted.map(({ leaf }) => leaf)])
          .select('index', 'hashes');
  const byLeaf = new Map(rows.map(({ index, hashes }) => [Number(index), hashes]));
  return recipe.make(
    wanted.map(({ level, leaf }) => {
      const hash = byLeaf.get(leaf)?.slice(level * 64, level * 64 + 64) ?? '';
      if (hash.length === 64) return hash;
      throw new HoldfastError('log_broken', `The log of all runs has no hash at level ${level} of entry ${leaf}.`, {
        hint: 'Someone has changed the table log_entries: `holdfast verify` says where; see docs/evidence/verify.md.',
      });
    }),
  );
}
