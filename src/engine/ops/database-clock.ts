import type { Knex } from 'knex';
import type { EngineLog } from '../../core/ops/log-record.js';
import type { Metrics } from '../../metrics/metrics.js';
import { databaseTimeMs } from '../../storage/database/columns.js';
import { type DatabaseTrouble, databaseTrouble } from '../../storage/database/database-trouble.js';
import { hearFailures } from '../../storage/database/transactions.js';
import { elapsedMs } from '../concurrency/repeated-work.js';

/**
 * The time by the clock of the database, which all processes share: what is due is due for all of them at once, whatever
 * their own clocks say and however those are set. Between two looks it goes on by a clock that no one
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

/** Everything is tried again, and would be told each time. */
const TOLD_FOR_MS = 10_000;

const WHAT: Readonly<Record<DatabaseTrouble, string | null>> = {
  away: 'the database is away; what it was asked is tried again',
  full: 'the database has no room; what it was to keep is tried again',
  read_only: 'the database takes no writes; what it was to keep is tried again',
  conflict: null,
};

/** Says in the log what keeps the database from doing what it is asked: runs wait for it, and nothing else of them shows. */
export function logDatabaseErrors(db: Knex, log: EngineLog, metrics: Metrics): void {
  const toldAt = new Map<DatabaseTrouble, number>();
  hearFailures(db, (error) => {
    const trouble = databaseTrouble(error);
    metrics.databaseFailed(trouble ?? 'other');
    const what = trouble === null ? null : WHAT[trouble];
    if (trouble === null || what === null) return;
    const now = performance.now();
    if (now - (toldAt.get(trouble) ?? Number.NEGATIVE_INFINITY) < TOLD_FOR_MS) return;
    toldAt.set(trouble, now);
    log.warn({ component: 'database', event: `database_${trouble}`, reason: reasonOf(error) }, what);
  });
}

/** What the driver says; knex puts the statement before it. */
const reasonOf = (error: unknown): string =>
  error instanceof Error ? (error.message.split(' - ').at(-1) ?? error.message) : String(error);
