import type { Knex } from 'knex';
import { leafOf } from '../../core/evidence/log-entry.js';
import { TreeEdge } from '../../core/evidence/merkle.js';
import { readEntries } from '../../storage/evidence/log-entries.js';
import { logSize } from '../../storage/evidence/log-rows.js';
import { serialize } from '../concurrency/concurrency-limits.js';

const ENTRIES_AT_ONCE = 2000;
/** Of entries that were signed before, so many are looked at again each time something is signed. */
const AGAIN_AT_ONCE = 5000;

/** How many entries were signed, and the root of the tree over them. */
interface Signed {
  readonly size: number;
  readonly root: string;
}

/** What was found: a tree that may be signed, why it may not, or that a later look goes on. */
export type Watched = { readonly edge: TreeEdge } | { readonly problem: string } | 'later';

export interface WatchOptions {
  /** What was signed as far as others know: the newest checkpoint, and what is kept beside the key. */
  readonly before: readonly Signed[];
  /** How many entries may be read now, before a process has gone through the log once. */
  readonly atMost: number;
  /** Goes through the whole log again. */
  readonly whole: boolean;
}

/**
 * What a signer knows of the log over all runs by itself. It makes the tree from the entries, never from their stored hashes; it
 * keeps the tree that it signed, and signs only what grows out of it. It goes through the whole log once before it signs
 * anything, and over a part of it again with each signature, so that it signs nothing over an entry that is gone or changed.
 */
export class EntryWatch {
  readonly #knex: Knex;
  /** The tree that was signed; null: this process has not gone through the log yet. */
  #kept: TreeEdge | null = null;
  #round = new TreeEdge();
  readonly #inTurn = serialize();

  constructor(knex: Knex) {
    this.#knex = knex;
  }

  /** What was signed. Where more was signed meanwhile, that is kept. */
  keep(edge: TreeEdge): void {
    if (this.#kept === null || edge.size > this.#kept.size) this.#kept = edge;
  }

  look(options: WatchOptions): Promise<Watched> {
    return this.#inTurn(() => this.#look(options));
  }

  async #look({ before, atMost, whole }: WatchOptions): Promise<Watched> {
    const kept = this.#kept;
    // Read after what was signed: another worker may have entered more since.
    const size = await logSize(this.#knex);
    const was = Math.max(kept?.size ?? 0, ...before.map((one) => one.size));
    if (was > size)
      return {
        problem: `a checkpoint of ${was} entries was signed, and the log has ${size}: its end was cut, or the database is older than the checkpoint`,
      };
    if (whole) this.#round = new TreeEdge();
    if (kept === null) return this.#first(size, before, whole ? size : atMost);
    const until = Math.min(kept.size, whole ? kept.size : this.#round.size + AGAIN_AT_ONCE);
    const again = await this.#walk(this.#round, until, []);
    if ('problem' in again) return again;
    const isRound = again.edge.size === kept.size;
    if (isRound && again.edge.root !== kept.root) return { problem: rewritten(kept.size) };
    this.#round = isRound ? new TreeEdge() : again.edge;
    return this.#walk(kept, size, before);
  }

  async #first(size: number, before: readonly Signed[], atMost: number): Promise<Watched> {
    const walked = await this.#walk(this.#round, Math.min(size, this.#round.size + atMost), before);
    if ('problem' in walked) return walked;
    const isOver = walked.edge.size === size;
    this.#round = isOver ? new TreeEdge() : walked.edge;
    return isOver ? walked : 'later';
  }

  /** A tree that has grown out of one, which stays as it is, up to so many entries. */
  async #walk(
    from: TreeEdge,
    until: number,
    before: readonly Signed[],
  ): Promise<{ readonly edge: TreeEdge } | { readonly problem: string }> {
    const edge = from.copy();
    while (edge.size < until) {
      const batch = await readEntries(this.#knex, edge.size, Math.min(ENTRIES_AT_ONCE, until - edge.size));
      if (batch.length === 0) return { problem: missing(edge.size) };
      for (const entry of batch) {
        if (entry.index !== edge.size) return { problem: missing(edge.size) };
        if (edge.append(leafOf(entry)).join('') !== entry.hashes)
          return { problem: `entry ${entry.index} is not what its hashes say: it was changed` };
        if (before.some(({ size, root }) => edge.size === size && edge.root !== root))
          return { problem: rewritten(edge.size) };
      }
    }
    return { edge };
  }
}

const missing = (index: number): string => `entry ${index} of the log is missing`;
const rewritten = (size: number): string =>
  `the log does not begin with the ${size} entries that a checkpoint was signed of: it was rewritten`;
