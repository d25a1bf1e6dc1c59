import { SEGMENT_WORKFLOW } from '../../core/runs/run.js';
import { Metrics } from '../../metrics/metrics.js';
import type { Database } from '../../storage/database/database.js';
import { namedTrouble } from '../../storage/database/database-trouble.js';
import { migrate } from '../../storage/database/migrate.js';
import { openDatabase } from '../../storage/database/open-database.js';
import type { Waiting } from '../concurrency/database-wait.js';
import { acquireStartupLock } from '../dbos/launch-dbos.js';
import { RECORDING_VERSION } from '../dbos/recording-version.js';
import { DEFAULT_DATA_DIR, type EngineConfig, withDefaults } from '../engine-config.js';
import { CleanupStack } from '../engine-context.js';
import type { Anchor } from '../evidence/anchor.js';
import { openAnchor } from '../evidence/evidence-config.js';
import { DatabaseClock, logDatabaseErrors } from '../ops/database-clock.js';
import { becomeWorker, type Worker } from './worker.js';

export const BUILD = '0.1.0';

/** What an engine stands on: its database, and its place among the workers. */
export interface Place {
  readonly database: Database;
  readonly clock: DatabaseClock;
  readonly worker: Worker;
  /** Lets the next process start. Closing the database does so, too. */
  readonly started: () => Promise<void>;
  readonly begun: CleanupStack;
  readonly anchor: Anchor;
  readonly metrics: Metrics;
}

/** How long a start waits for a database that is away, and how it says so: in the log, or as a warning of the process where it has none. */
export const startWaiting = (config: EngineConfig): Waiting => ({
  atMostMs: withDefaults(config).startWaitMs,
  tell: (why) => {
    const { log } = config;
    const what = 'the database is away; the start waits for it';
    if (log === undefined) process.emitWarning(`Holdfast: ${what}: ${why}`);
    else log.warn({ component: 'database', event: 'start_waits', reason: why }, what);
  },
});

/** Opens the database and becomes its worker. Leaves nothing open when it throws. */
export async function takePlace(config: EngineConfig): Promise<Place> {
  const { role, capacity, crashLimit, stillAfterMs, log } = withDefaults(config);
  const database = await openDatabase({
    databaseUrl: config.databaseUrl ?? null,
    dataDir: config.dataDir ?? DEFAULT_DATA_DIR,
  });
  const metrics = new Metrics();
  const begun = new CleanupStack();
  begun.endsWith(() => metrics.close());
  begun.endsWith(() => database.close());
  try {
    await migrate(database.knex);
    logDatabaseErrors(database.knex, log, metrics);
    const clock = await DatabaseClock.open(database.knex);
    const anchor = await openAnchor(config, database, clock.now);
    const started = await acquireStartupLock(database);
    const worker = await becomeWorker(database, {
      ...{ id: config.workerId ?? null, role, capacity, build: BUILD, pid: process.pid },
      ...{ workflow: SEGMENT_WORKFLOW, recordingVersion: RECORDING_VERSION, crashLimit, stillAfterMs },
    });
    return { database, clock, worker, started, begun, anchor, metrics };
  } catch (error) {
    await begun.end();
    throw namedTrouble(error) ?? error;
  }
}
