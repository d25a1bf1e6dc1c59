import { row } from './error-row.js';

/** Errors of starting and running a process: the end of the one table of errors (error-table.ts). */
export const PROCESS_ERRORS = {
  config_invalid: row(
    500,
    'stop',
    'The configuration is not valid',
    'Correct the field that is named; docs/settings.md lists all.',
  ),
  config_unreadable: row(
    500,
    'stop',
    'The configuration file cannot be loaded',
    'Check the path and the error in the detail.',
  ),
  package_missing: row(
    500,
    'stop',
    'A package is not installed',
    'Install the package that is named, in the version that is named.',
  ),
  crash_test_failed: row(
    500,
    'stop',
    'The run does not rest without any crash',
    'Try it first, with `holdfast dev` and `holdfast run`; give the crash test scripted or recorded models.',
  ),
  secret_unreadable: row(
    500,
    'stop',
    'A key cannot be read',
    'Look at the place that is named: whether it is there, and who may read it.',
  ),
  database_unreachable: row(
    503,
    'retry',
    'The database does not answer',
    'Check DATABASE_URL and that PostgreSQL runs.',
  ),
  database_full: row(503, 'retry', 'The database has no room', 'Make room on its disk; runs go on by themselves then.'),
  database_read_only: row(
    503,
    'retry',
    'The database takes no writes',
    'See why: `show transaction_read_only`, its quota, or whether DATABASE_URL names a replica; runs go on by themselves then.',
  ),
  database_busy: row(
    503,
    'retry',
    'Other work of the database was in the way',
    'Send the request again: nothing of it was kept.',
  ),
  database_newer: row(
    503,
    'stop',
    'The database is newer than this build',
    'Run the newer build; migrations only go forward.',
  ),
  database_older: row(
    503,
    'stop',
    'The database lacks migrations of this build',
    'Run `holdfast migrate` with this build; servers at work go on meanwhile.',
  ),
  database_corrupt: row(503, 'stop', 'The database cannot be opened', 'Restore a backup of the data directory.'),
  data_dir_in_use: row(
    503,
    'stop',
    'Another process owns the data directory',
    'Stop it, or set HOLDFAST_DATA_DIR to another directory.',
  ),
  worker_id_in_use: row(
    503,
    'stop',
    'Another live process has this worker id',
    'Stop it, or set HOLDFAST_WORKER_ID to another id.',
  ),
  worker_superseded: row(
    503,
    'stop',
    'This worker was taken over',
    'Start it again: a newer process of its id, or the other workers, have what it had at work.',
  ),
  port_in_use: row(503, 'stop', 'The port is in use', 'Stop the other process, or set HOLDFAST_PORT.'),
  server_unreachable: row(
    503,
    'retry',
    'No server answers',
    'Start it with `holdfast serve`, or set HOLDFAST_URL to its address.',
  ),
  unsafe_bind: row(
    500,
    'stop',
    'Refusing to listen beyond loopback without configured tokens',
    'Set HOLDFAST_TOKENS, or listen on 127.0.0.1.',
  ),
  engine_not_running: row(503, 'retry', 'The engine is not running', 'Start it, or wait until it is ready.'),
  work_crashes: row(
    503,
    'stop',
    'Processes died with this work again and again',
    'Find out what ends the process, such as memory. It may be tried again a day after the last death, or at once when `holdfast work --lift` forgets the deaths, or with a greater HOLDFAST_CRASH_LIMIT.',
  ),
  engine_started: row(
    500,
    'stop',
    'This process has an engine already',
    'Use that engine, or wait for its `stop()`; a second engine needs a process of its own.',
  ),
  dbos_launched: row(
    500,
    'stop',
    'DBOS was launched before the engine',
    'Register your workflows, then call createEngine, which launches DBOS for both; or give one of them another process.',
  ),
  library_changed: row(
    500,
    'stop',
    'A library does not have the part that is needed',
    'Install the versions of package-lock.json.',
  ),
  internal: row(
    500,
    'retry',
    'Something went wrong inside',
    'Try again; if it stays, report it with the log line of this request.',
  ),
} as const;
