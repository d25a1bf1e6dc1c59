import { HoldfastError } from '../core/errors/errors.js';
import { type CheckpointLine, checkpointLineOf } from '../core/evidence/checkpoint.js';
import type { BucketPlace } from '../core/exports/bucket-place.js';
import type { ObjectStore } from './object-store.js';
import { textBody } from './signed-request.js';

/** Digits of the largest size that there can be. */
const DIGITS = 16;
const NAME = new RegExp(`^\\d{${DIGITS}}-\\d{1,${DIGITS}}-[0-9a-f]{16}\\.json$`);
const PAGE = 1000;
const NEWEST = 20;
/** Between the newest and the front of the list there may be so many names of others, and so many of those like a checkpoint's. */
const OTHERS_MAX = 10_000;
const ALIKE_MAX = 400;
const AT_ONCE = 16;
/** Checkpoints that were read are kept: what is under a name never changes. */
const KEPT = 500;

/**
 * Checkpoints in an object store, each an object of its own, which is never written again. Stores list names in their order, so
 * that a name begins with how much of the largest size is left: the newest is the first. Behind it are the size and a digest of the
 * note: two checkpoints that say something else never have the same name.
 */
export class CheckpointObjects {
  readonly #store: ObjectStore;
  readonly #place: BucketPlace;
  /** Null: it is no checkpoint. */
  readonly #kept = new Map<string, CheckpointLine | null>();

  constructor(store: ObjectStore, place: BucketPlace) {
    this.#store = store;
    this.#place = place;
  }

  /** Throws what the store throws. */
  async write(size: number, one: CheckpointLine): Promise<void> {
    const left = String(Number.MAX_SAFE_INTEGER - size).padStart(DIGITS, '0');
    const name = `${left}-${size}-${textBody(one.note).sha256.slice(0, 16)}.json`;
    // What is there already says the same.
    await this.#store.make(this.#nameOf(name), textBody(`${JSON.stringify(one)}\n`), {}, 'application/json');
  }

  /**
   * The newest, newest first; what cannot be read is left out, and what is not signed is gone past. Throws what the store throws, and
   * `checkpoints_hidden` where there is too much of it.
   */
  async newest(isSigned: (note: string) => boolean): Promise<CheckpointLine[]> {
    let after: string | undefined;
    let alike = 0;
    for (let others = 0; others < OTHERS_MAX && alike < ALIKE_MAX; ) {
      const names = await this.#names(after, after === undefined ? NEWEST : PAGE);
      after = names.at(-1);
      if (after === undefined) return [];
      const fit = names.filter((name) => NAME.test(name));
      for (let from = 0; from < fit.length && alike < ALIKE_MAX; from += NEWEST) {
        const some = fit.slice(from, from + NEWEST);
        const read = await this.#read(some);
        if (read.some(({ note }) => isSigned(note))) return read;
        alike += some.length;
      }
      others += names.length;
    }
    throw this.#hidden();
  }

  #hidden(): HoldfastError {
    const { bucket, prefix } = this.#place;
    return new HoldfastError(
      'checkpoints_hidden',
      `The newest checkpoint is not among the first names below s3://${bucket}/${prefix}/: others stand before it.`,
    );
  }

  /** The newest, as many as asked for, newest first. Throws what the store throws, and `checkpoints_hidden`. */
  async *lines(limit: number): AsyncGenerator<CheckpointLine, void> {
    let after: string | undefined;
    let others = 0;
    for (let seen = 0; seen < limit; ) {
      const names = await this.#names(after, Math.min(PAGE, limit - seen));
      after = names.at(-1);
      if (after === undefined) return;
      const fit = names.filter((name) => NAME.test(name));
      for (let from = 0; from < fit.length; from += AT_ONCE) yield* await this.#read(fit.slice(from, from + AT_ONCE));
      seen += fit.length;
      others += names.length - fit.length;
      if (others > OTHERS_MAX) throw this.#hidden();
    }
  }

  async #names(after: string | undefined, limit: number): Promise<readonly string[]> {
    const { bucket, prefix } = this.#place;
    const from = after === undefined ? {} : { after: `${prefix}/${after}` };
    const keys = await this.#store.list(bucket, { prefix: `${prefix}/`, ...from, limit });
    return keys.map((key) => key.slice(prefix.length + 1));
  }

  async #read(names: readonly string[]): Promise<CheckpointLine[]> {
    const read = await Promise.all(names.map((name) => this.#one(name)));
    return read.filter((one) => one !== null);
  }

  async #one(name: string): Promise<CheckpointLine | null> {
    const kept = this.#kept.get(name);
    if (kept !== undefined) return kept;
    const text = await this.#store.read(this.#nameOf(name));
    if (text === null) return null;
    const line = checkpointLineOf(text);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= KEPT && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(name, line);
    return line;
  }

  #nameOf(name: string) {
    return { bucket: this.#place.bucket, key: `${this.#place.prefix}/${name}` };
  }
}
