import type { Knex } from 'knex';
import { openCheckpoint, type SignedCheckpoint, signCheckpoint } from '../core/checkpoint.js';
import { HoldfastError } from '../core/errors.js';
import type { LogView } from '../core/log-view.js';
import { consistencyRecipe, rootRecipe, verifyConsistency } from '../core/merkle.js';
import type { SigningKey } from '../core/signed-note.js';
import { keepCheckpoint, newestCheckpoints } from '../storage/log-checkpoints.js';
import { enterMoved, logSize } from '../storage/log-entries.js';
import { readTree } from '../storage/log-tree.js';
import type { CheckpointPlace } from './checkpoint-place.js';
import type { LogKeys } from './log-keys.js';
import type { EngineLog } from './parts.js';

const RUNS_AT_ONCE = 500;
const BATCHES_AT_ONCE = 20;
const LOOK_BACK = 20;

export interface AnchorParts {
  readonly knex: Knex;
  readonly keys: LogKeys;
  readonly place: CheckpointPlace;
  /** How long a run that goes on rests between two entries, in milliseconds, and how often checkpoints are signed. */
  readonly intervalMs: number;
  readonly now: () => number;
  readonly log: EngineLog;
}

/** The newest checkpoint that there is, and whether it was read from outside the database. */
export interface Newest {
  readonly checkpoint: SignedCheckpoint;
  readonly outside: boolean;
}

/**
 * Enters what runs have done into the log over all of them, and signs how far it is. Beside the work: no run waits for it. Every
 * part of it may be repeated, by any worker, after any crash: entries have a natural key, and a checkpoint of one size is always
 * the same.
 */
export class Anchor {
  readonly #parts: AnchorParts;
  #nextAt: number;
  #after = '';
  #problem: string | null = null;
  /** Up to where this process knows that the log is signed, outside. */
  #signed = -1;

  constructor(parts: AnchorParts) {
    this.#parts = parts;
    this.#nextAt = performance.now() + parts.intervalMs;
  }

  get keys(): LogKeys {
    return this.#parts.keys;
  }

  get place(): CheckpointPlace {
    return this.#parts.place;
  }

  /** What is due, if anything is. Never throws: what fails is told, and done later. */
  async beat(): Promise<void> {
    if (performance.now() < this.#nextAt) return;
    this.#nextAt = performance.now() + this.#parts.intervalMs;
    await this.#pass(this.#parts.intervalMs, BATCHES_AT_ONCE).catch((error: unknown) =>
      this.#parts.log.warn(
        { component: 'evidence', event: 'not_signed', error: String(error) },
        'the log of all runs could not be signed; it is tried again',
      ),
    );
  }

  /** Before the process ends. What fails, and what is too much for it, is done by the next one. */
  async last(): Promise<void> {
    this.#after = '';
    await this.#pass(0, BATCHES_AT_ONCE).catch((error: unknown) =>
      this.#parts.log.warn(
        { component: 'evidence', event: 'not_signed_at_end', error: String(error) },
        'the log of all runs was not signed at the end',
      ),
    );
  }

  /** Everything that has happened up to now. */
  async all(): Promise<void> {
    this.#after = '';
    await this.#pass(0, Number.POSITIVE_INFINITY);
  }

  /** A log that is broken is told as the problem that it is, and neither grows nor is signed. */
  async #pass(restMs: number, batches: number): Promise<void> {
    try {
      await this.#enter(restMs, batches);
      await this.#sign();
    } catch (error) {
      if (!(error instanceof HoldfastError && error.code === 'log_broken')) throw error;
      this.#tell(error.message);
    }
  }

  /** Goes once through the runs that have moved, in turns of so many batches. */
  async #enter(restMs: number, batches: number): Promise<void> {
    for (let done = 0; done < batches; done++) {
      const entered = await enterMoved(this.#parts.knex, { after: this.#after, limit: RUNS_AT_ONCE, restMs });
      if (entered === null) return;
      this.#after = entered.after ?? '';
      if (entered.after === null) return;
    }
  }

  /** The newest checkpoint that a known key has signed: of the place outside, else of the database. */
  async newest(): Promise<Newest | null> {
    const { knex, keys, place } = this.#parts;
    if (keys.trusted.length === 0) return null;
    const outside = this.#newestOf(await place.newest((note) => this.#isSigned(note)));
    if (outside !== null) return { checkpoint: outside, outside: true };
    const stored = await newestCheckpoints(knex, LOOK_BACK);
    const inside = this.#newestOf(stored.map(({ note }) => note));
    return inside === null ? null : { checkpoint: inside, outside: false };
  }

  #isSigned(note: string): boolean {
    return typeof openCheckpoint(note, this.#parts.keys.trusted) !== 'string';
  }

  #newestOf(notes: readonly string[]): SignedCheckpoint | null {
    const signed = notes.map((note) => openCheckpoint(note, this.#parts.keys.trusted));
    return signed.filter((one) => typeof one !== 'string').reduce<SignedCheckpoint | null>(greater, null);
  }

  /** Signs the log as it is, if it extends what was signed before. What does not is never signed. */
  async #sign(): Promise<void> {
    const { knex, keys, place, now } = this.#parts;
    if (keys.signing === null) return;
    if ((await logSize(knex)) === this.#signed) return;
    const before = await this.newest();
    // Read after it: another worker may have entered and signed more since.
    const size = await logSize(knex);
    if (size === 0 && before === null) return;
    const extension = await this.#extension(before?.checkpoint ?? null, size);
    this.#tell(typeof extension === 'string' ? extension : null);
    if (typeof extension === 'string') return;
    if (!(before?.outside === true && before.checkpoint.size === size && isBy(before, keys.signing))) {
      const signed = signCheckpoint(size, extension.root, keys.signing);
      await keepCheckpoint(knex, signed);
      await place.write(size, { at: new Date(now()).toISOString(), note: signed.note });
    }
    this.#signed = size;
  }

  /** The root of the log, or why it does not extend what was signed. Throws `log_broken`. */
  async #extension(before: SignedCheckpoint | null, size: number): Promise<{ readonly root: string } | string> {
    if (before !== null && before.size > size)
      return `a checkpoint of ${before.size} entries was signed, and the log has ${size}: its end was cut, or the database is older than the checkpoint`;
    const root = await readTree(this.#parts.knex, rootRecipe(size));
    if (before === null) return { root };
    const proof = await readTree(this.#parts.knex, consistencyRecipe(before.size, size));
    return verifyConsistency(proof, { earlier: before.size, earlierRoot: before.root, size, root })
      ? { root }
      : `the log does not begin with the ${before.size} entries that the newest checkpoint was signed of: it was rewritten`;
  }

  #tell(problem: string | null): void {
    if (problem !== null && problem !== this.#problem)
      this.#parts.log.error(
        { component: 'evidence', event: 'signing_stopped', problem },
        'the log of all runs is not signed any more; see docs/evidence.md',
      );
    this.#problem = problem;
  }

  async view(): Promise<LogView> {
    const { knex, keys, place } = this.#parts;
    const newest = await this.newest();
    return {
      entries: await logSize(knex),
      checkpoint: newest && {
        size: newest.checkpoint.size,
        root: newest.checkpoint.root,
        note: newest.checkpoint.note,
      },
      keys: keys.trusted.map(({ text }) => text),
      handovers: [...keys.handovers],
      signs: keys.signing !== null,
      writesTo: place.name,
      problem: this.#problem,
    };
  }
}

const greater = (a: SignedCheckpoint | null, b: SignedCheckpoint): SignedCheckpoint =>
  a !== null && a.size >= b.size ? a : b;

const isBy = ({ checkpoint }: Newest, key: SigningKey): boolean => checkpoint.signedBy.text === key.public.text;
