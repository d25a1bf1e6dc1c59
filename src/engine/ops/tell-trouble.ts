import type { Knex } from 'knex';
import type { EngineLog } from '../../core/ops/log-record.js';
import type { Metrics } from '../../metrics/metrics.js';
import { type DatabaseTrouble, databaseTrouble } from '../../storage/database/database-trouble.js';

/** Everything is tried again, and would be told each time. */
const TOLD_FOR_MS = 10_000;

const WHAT: Readonly<Record<DatabaseTrouble, string | null>> = {
  away: 'the database is away; what it was asked is tried again',
  full: 'the database has no room; what it was to keep is tried again',
  read_only: 'the database takes no writes; what it was to keep is tried again',
  conflict: null,
};

/** Says in the log what keeps the database from doing what it is asked: runs wait for it, and nothing else of them shows. */
export function tellTrouble(db: Knex, log: EngineLog, metrics: Metrics): void {
  const toldAt = new Map<DatabaseTrouble, number>();
  db.on('query-error', (error: unknown) => {
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
