import { setTimeout as sleep } from 'node:timers/promises';
import { HoldfastError } from '../../core/errors/errors.js';
import { databaseTrouble } from '../../storage/database/database-trouble.js';

const LOOK_EVERY_MS = 500;
const TELL_EVERY_MS = 10_000;

export interface Waiting {
  /** How long a database is waited for; 0: not at all. */
  readonly atMostMs: number;
  /** Called when it waits, at once and every ten seconds, with what keeps it. */
  readonly tell: (why: string) => void;
}

/**
 * Does something that needs the database as soon as the database is there: one that is away, starts or is slow is waited for, as those
 * that are at work wait for it. What would not pass is thrown at once. `work` leaves nothing open when it throws.
 */
export async function whenDatabaseAnswers<T>({ atMostMs, tell }: Waiting, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  let toldAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const now = performance.now();
      if (!isAway(error) || now - began >= atMostMs) throw error;
      if (now - toldAt >= TELL_EVERY_MS) {
        toldAt = now;
        tell(error instanceof Error ? (error.message.split(' - ').at(-1) ?? '') : String(error));
      }
    }
    await sleep(LOOK_EVERY_MS);
  }
}

/** A role, a password or a database that is wrong at the start stays wrong, whereas one that is at work waits for it to be mended. */
const STAYS = /^(28|3D)/;

function isAway(error: unknown): boolean {
  const said = error instanceof HoldfastError ? error.cause : error;
  const { code } = (said ?? {}) as { readonly code?: unknown };
  return databaseTrouble(said) === 'away' && !STAYS.test(String(code ?? ''));
}
