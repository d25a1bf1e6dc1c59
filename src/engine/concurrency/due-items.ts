import { databaseTrouble } from '../../storage/database/database-trouble.js';

/** One that failed is left alone for so long, so that it holds up no other. */
const AGAIN_AFTER_MS = 10_000;
const FAILED_MAX = 1000;
/** So many in one go. What is left is due at the next one. */
const SEEN_MAX = 5000;

interface DueItems<T> {
  readonly atOnce: number;
  /** Some of what is due, what is due for longest first, without those of the ids. */
  readonly find: (except: readonly string[], limit: number) => Promise<readonly T[]>;
  readonly idOf: (item: T) => string;
  readonly work: (item: T) => Promise<unknown>;
  /** Told of an item that could not be worked off. It stays due. */
  readonly failed: (item: T, error: unknown) => void;
  readonly againAfterMs?: number;
}

/**
 * Works off what is due, each item once in a go. One that fails holds up no other, whatever is due before it. Throws where the database is
 * in trouble, since then all would fail.
 */
export function dueItems<T>({
  atOnce,
  find,
  idOf,
  work,
  failed,
  againAfterMs = AGAIN_AFTER_MS,
}: DueItems<T>): (isStopping: () => boolean) => Promise<void> {
  const left = new Map<string, number>();
  const tried = async (item: T): Promise<void> => {
    try {
      await work(item);
    } catch (error) {
      const trouble = databaseTrouble(error);
      if (trouble !== null && trouble !== 'conflict') throw error;
      if (left.size < FAILED_MAX) left.set(idOf(item), performance.now() + againAfterMs);
      failed(item, error);
    }
  };
  return async (isStopping) => {
    const now = performance.now();
    for (const [id, again] of left) if (again <= now) left.delete(id);
    const seen = new Set(left.keys());
    for (let more = true; more && seen.size < SEEN_MAX; ) {
      const due = await find([...seen], atOnce);
      more = due.length === atOnce;
      for (const item of due) {
        if (isStopping()) return;
        seen.add(idOf(item));
        await tried(item);
      }
    }
  };
}
