import type { Knex } from 'knex';
import { openCheckpoint } from '../../core/evidence/checkpoint.js';
import { leafOf } from '../../core/evidence/log-entry.js';
import type { LogReport } from '../../core/evidence/log-view.js';
import { rootRecipe, TreeEdge } from '../../core/evidence/merkle.js';
import { breathe } from '../../storage/database/timing.js';
import { newestCheckpoints } from '../../storage/evidence/checkpoints.js';
import {
  changedSince,
  type FalseLossRow,
  falseLossRows,
  keysBack,
  returned,
  runsBack,
  unentered,
  unexplained,
  unlinked,
  vanished,
} from '../../storage/evidence/log-check.js';
import { type IndexedAny, readEntries } from '../../storage/evidence/log-entries.js';
import { logSize, readTree } from '../../storage/evidence/log-rows.js';
import type { EngineContext } from '../engine-context.js';

const ENTRIES_AT_ONCE = 2000;
const PROBLEMS_MAX = 20;
const STORED_MAX = 10_000;

type Problem = LogReport['problems'][number];

/**
 * Verifies the whole log over all runs: its tree is made again from its entries, every checkpoint that can be read is compared with
 * it, and every entry with the event that it commits to. Names the first problems, at most 20; a run only to its own tenant. Throws the
 * reason of the signal when it fires.
 */
export async function verifyWholeLog(context: EngineContext, tenant: string, signal?: AbortSignal): Promise<LogReport> {
  const { knex } = context.stepContext;
  const problems: Problem[] = [];
  const found: Found = (what, run) => {
    if (problems.length < PROBLEMS_MAX) problems.push({ what, runId: run?.tenant === tenant ? run.runId : null });
  };
  const tree = new Remade(knex, found, signal);
  await tree.resume();
  const { checkpoints, size, key, outside } = await checkCheckpoints(context, tree, found, signal);
  signal?.throwIfAborted();
  for (const one of await changedSince(knex, PROBLEMS_MAX))
    found(`entry ${one.index} commits to event ${one.seq} of a run, which is missing or says something else`, one);
  signal?.throwIfAborted();
  for (const one of await vanished(knex, PROBLEMS_MAX))
    found(`entry ${one.index} is of a run that is gone, and no entry says who removed it`, one);
  signal?.throwIfAborted();
  for (const one of await unexplained(knex, PROBLEMS_MAX))
    found('the payloads of a run cannot be read any more, and no entry says who erased them', one);
  signal?.throwIfAborted();
  for (const one of await unlinked(knex, PROBLEMS_MAX))
    found(`entry ${one.index} does not follow from the entry before of its run`, one);
  signal?.throwIfAborted();
  for (const one of await runsBack(knex, PROBLEMS_MAX))
    found(`entry ${one.index} says that a run was removed, which is there`, one);
  for (const one of await keysBack(knex, PROBLEMS_MAX))
    found(`entry ${one.index} says that a run was erased, and the key of its payloads is there`, one);
  signal?.throwIfAborted();
  for (const one of await falseLossRows(knex, PROBLEMS_MAX)) found(whatOf(one), one);
  signal?.throwIfAborted();
  for (const { index } of await returned(knex, PROBLEMS_MAX))
    found(`entry ${index} says that a document of memory was removed, which is there`);
  signal?.throwIfAborted();
  for (const one of await unentered(knex, PROBLEMS_MAX))
    found('a run was entered into the log with its last event, and the log has no such entry', one);
  return { ok: problems.length === 0, entries: tree.size, checkpoints, size, key, outside, problems };
}

const whatOf = ({ table, column, index }: FalseLossRow): string =>
  index === null
    ? `a row of ${table} says what a run has lost, and no entry says so`
    : column === null
      ? `${table} has no row for entry ${index}, which says what a run has lost`
      : `${column} of a row of ${table} is not what entry ${index} says`;

type Found = (what: string, run?: { readonly runId: string; readonly tenant: string }) => void;

/** Whose an entry is; undefined: it is of no run. */
const nameOf = (entry: IndexedAny) => ('document' in entry ? undefined : entry);

/** The tree as its entries say it: as far as they are there without a gap, and are what their hashes say. */
class Remade {
  readonly #knex: Knex;
  readonly #found: Found;
  readonly #signal: AbortSignal | undefined;
  readonly #edge = new TreeEdge();
  /** How many entries are right, where one is not. */
  #brokenAt: number | null = null;

  constructor(knex: Knex, found: Found, signal: AbortSignal | undefined) {
    this.#knex = knex;
    this.#found = found;
    this.#signal = signal;
  }

  get size(): number {
    return this.#brokenAt ?? this.#edge.size;
  }

  /** Takes what there is by now. */
  async resume(): Promise<void> {
    const edge = this.#edge;
    const until = await logSize(this.#knex);
    while (this.#brokenAt === null && edge.size < until) {
      const batch = await readEntries(this.#knex, edge.size, Math.min(ENTRIES_AT_ONCE, until - edge.size));
      for (const entry of batch) {
        if (entry.index !== edge.size) return this.#breaks(edge.size, `entry ${edge.size} of the log is missing`);
        const hashes = edge.append(leafOf(entry)).join('');
        if (hashes !== entry.hashes)
          return this.#breaks(entry.index, `entry ${entry.index} is not what its hashes say`, nameOf(entry));
        await breathe(this.#signal);
      }
      if (batch.length === 0) return;
    }
  }

  #breaks(at: number, what: string, run?: Parameters<Found>[1]): void {
    this.#brokenAt = at;
    this.#found(what, run);
  }
}

interface Seen {
  checkpoints: number;
  size: number | null;
  key: string | null;
  outside: boolean;
}

async function checkCheckpoints(
  context: EngineContext,
  tree: Remade,
  found: Found,
  signal: AbortSignal | undefined,
): Promise<Seen> {
  const { place, keys } = context.anchor;
  const seen: Seen = { checkpoints: 0, size: null, key: null, outside: false };
  // Who has no key at all can tell no checkpoint from another.
  if (keys.trusted.length === 0) return seen;
  const check = async (note: string, where: string, outside: boolean): Promise<void> => {
    await breathe(signal);
    const checkpoint = openCheckpoint(note, keys.trusted);
    if (typeof checkpoint === 'string') return found(`${where}: ${checkpoint}`);
    seen.checkpoints += 1;
    const { size, root, signedBy } = checkpoint;
    // Signed while this goes on: its entries came before it.
    if (size > tree.size) await tree.resume();
    if (size > tree.size)
      return found(`${where}: a checkpoint of ${size} entries was signed, and ${tree.size} of them are there`);
    if ((await rootAt(context, size)) !== root)
      return found(`${where}: the first ${size} entries of the log are not those that were signed`);
    if (size < (seen.size ?? 0) || (size === seen.size && seen.outside)) return;
    Object.assign(seen, { size, key: signedBy.text, outside });
  };
  // Where it is hidden, what is read below says nothing.
  await context.anchor.newest();
  for await (const { at, note } of place.lines()) await check(note, `the checkpoint of ${at} in ${place.name}`, true);
  for (const { size, note } of await newestCheckpoints(context.stepContext.knex, STORED_MAX))
    await check(note, `the stored checkpoint of ${size} entries`, false);
  return seen;
}

/** The hashes of the tree were compared with the entries before. */
const rootAt = (context: EngineContext, size: number): Promise<string | null> =>
  readTree(context.stepContext.knex, rootRecipe(size)).catch(() => null);
