import type { Knex } from 'knex';
import { databaseTimeMs } from '../../storage/database/clock.js';

/**
 * The time by the clock of the database, which all processes share: what is due is due for all of them at once, whatever
 * their own clocks say and however those are set. Between two looks it goes on by the process's monotonic clock, which nobody
 * can set; so it does while the database is away.
 */
export class DatabaseClock {
  #offsetMs: number;

  private constructor(offsetMs: number) {
    this.#offsetMs = offsetMs;
  }

  static async open(db: Knex): Promise<DatabaseClock> {
    const clock = new DatabaseClock(0);
    const { earliest, latest } = await lookAt(db);
    clock.#offsetMs = (earliest + latest) / 2;
    return clock;
  }

  /** Whole milliseconds since 1970. */
  readonly now = (): number => Math.round(performance.now() + this.#offsetMs);

  /** Looks at the database's clock again; moves only as far as this look proves, so that a slow answer moves nothing. */
  async look(db: Knex): Promise<void> {
    const { earliest, latest } = await lookAt(db);
    this.#offsetMs = Math.min(Math.max(this.#offsetMs, earliest), latest);
  }
}

/** Between which two offsets the database's clock is from ours: it was read after the question and before the answer. */
async function lookAt(db: Knex): Promise<{ readonly earliest: number; readonly latest: number }> {
  const asked = performance.now();
  const timeMs = await databaseTimeMs(db);
  return { earliest: timeMs - performance.now(), latest: timeMs - asked };
}
