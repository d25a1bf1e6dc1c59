import type { Knex } from 'knex';
import { databaseTimeMs } from '../../storage/database/columns.js';
import { elapsedMs } from '../concurrency/elapsed.js';

/**
 * The time by the clock of the database, which all processes share: what is due is due for all of them at once, whatever
 * their own clocks say and however those are set. Between two looks it goes on by a clock that nobody
 * can set and that counts while the machine sleeps; so it does while the database is away.
 */
export class DatabaseClock {
  readonly #elapsed: () => number;
  #offsetMs = 0;

  private constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  static async open(db: Knex, elapsed = elapsedMs): Promise<DatabaseClock> {
    const clock = new DatabaseClock(elapsed);
    const { earliest, latest } = await lookAt(db, elapsed);
    clock.#offsetMs = (earliest + latest) / 2;
    return clock;
  }

  /** Whole milliseconds since 1970. */
  readonly now = (): number => Math.round(this.#elapsed() + this.#offsetMs);

  /** Looks at the database's clock again; moves only as far as this look proves, so that a slow answer moves nothing. */
  async look(db: Knex): Promise<void> {
    const { earliest, latest } = await lookAt(db, this.#elapsed);
    this.#offsetMs = Math.min(Math.max(this.#offsetMs, earliest), latest);
  }
}

/** Between which two offsets the database's clock is from ours: it was read after the question and before the answer. */
async function lookAt(
  db: Knex,
  elapsed: () => number,
): Promise<{ readonly earliest: number; readonly latest: number }> {
  const asked = elapsed();
  const timeMs = await databaseTimeMs(db);
  return { earliest: timeMs - elapsed(), latest: timeMs - asked };
}
