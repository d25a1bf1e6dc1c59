import { setTimeout as sleep } from 'node:timers/promises';
import { DBOS, type DBOSConfig } from '@dbos-inc/dbos-sdk';
import { DBOSJSON } from '@dbos-inc/dbos-sdk/internal/serialization';
import * as utils from '@dbos-inc/dbos-sdk/internal/utils';
import { getGlobalTraceProvider } from '@openai/agents';
import { z } from 'zod';
import { pinDbosIdentity } from '../../config.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { isJson } from '../../core/json.js';
import type { EngineLog } from '../../core/ops/log-record.js';
import type { Database } from '../../storage/database/database.js';
import { databaseTrouble } from '../../storage/database/database-trouble.js';
import { refuseConnections } from '../../storage/database/silent-connections.js';
import { SILENT } from '../engine-config.js';
import { APPLICATION, RECORDING_VERSION } from './recording-version.js';
import { hearerOf, watchStrayThrows } from './stray-throws.js';

/** Packages that the SDK asks for in DBOS Cloud alone. */
const CLOUD_PACKAGES = /@dbos-inc\/dbos-enterprise|@opentelemetry\/|winston/;

/** Launches DBOS under the identity of the engine. Throws `config_invalid` where a package is missing that DBOS Cloud needs. */
export async function launchDbos(
  executor: string,
  config: Omit<DBOSConfig, 'name' | 'applicationVersion' | 'executorID' | 'logger'>,
  log: EngineLog,
): Promise<void> {
  const version = String(RECORDING_VERSION);
  pinDbosIdentity({ application: APPLICATION, version, executor });
  const identity = { name: APPLICATION, applicationVersion: version, executorID: executor };
  DBOS.setConfig({ ...config, ...identity, logger: quietLogger(log) });
  try {
    await DBOS.launch();
  } catch (error) {
    const said = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    if (!CLOUD_PACKAGES.test(said)) throw error;
    throw new HoldfastError('config_invalid', `DBOS does not launch here: ${said}`, {
      hint: 'Run `holdfast doctor --cloud`; docs/operate/dbos-cloud.md says what can be done.',
    });
  }
}

/** What PostgreSQL says of itself in a line of DBOS, which has no code of it. */
const OF_DATABASE =
  /in a read-only transaction|permitted to log in|password authentication failed|(?:is|are) (?:starting up|shutting down)|not yet accepting connections|terminating connection|No space left on device/;
const isTold = (text: string): boolean => databaseTrouble({ message: text }) !== null || OF_DATABASE.test(text);

/** DBOS asks several times a second. Of a database that is away, the engine says so for all. */
const quietLogger = (log: EngineLog) => {
  const say = (level: 'debug' | 'warn' | 'error') => (entry: unknown) => {
    const text = String(entry);
    log[isTold(text) ? 'debug' : level]({ component: 'dbos', event: 'said', entry: text }, 'dbos');
  };
  return { debug: say('debug'), info: say('debug'), warn: say('warn'), error: say('error') };
};

/** Where a process says that it has an engine; the same in every copy of this module. */
const ENGINE = Symbol.for('holdfast.engine');

/**
 * Takes the one place for an engine that a process has, since it has one DBOS, hears what no one in it catches, and gives the way to
 * leave it. Throws `engine_started`
 * and `dbos_launched`, and has touched nothing then.
 */
export function takeProcess(log: EngineLog | undefined): () => void {
  if (Reflect.get(globalThis, ENGINE) !== undefined)
    throw new HoldfastError(
      'engine_started',
      'This process has an engine, which works or starts or stops; a second one was not begun.',
    );
  if (DBOS.isInitialized())
    throw new HoldfastError(
      'dbos_launched',
      'DBOS was launched in this process before the engine; it goes on, and no engine was begun.',
    );
  const place = {};
  Reflect.set(globalThis, ENGINE, place);
  const ignoreStrays = hearStrays(log ?? SILENT, log === undefined);
  return () => {
    ignoreStrays();
    if (Reflect.get(globalThis, ENGINE) === place) Reflect.deleteProperty(globalThis, ENGINE);
  };
}

const DEFAULT_GRACE_MS = 10_000;

/**
 * Waits at most so long for what is at work, and shuts DBOS down. An execution that outlives its grace finds no DBOS any more,
 * and would record that as the error of its step and of its run: before that it gets no connection any more, so that it records
 * nothing, and is executed again by the code that takes it over.
 */
export async function shutDbosDown({ pool }: Database, askedMs = DEFAULT_GRACE_MS): Promise<void> {
  // DBOS refuses what a timer cannot hold.
  const graceMs = Math.min(Math.max(0, askedMs), 2 ** 31 - 1);
  const refuse = (): void => refuseConnections(pool);
  if (graceMs === 0) refuse();
  // It is set before the timer of DBOS, and comes before it.
  const timer = setTimeout(refuse, graceMs);
  try {
    await DBOS.shutdown({ deregister: true, workflowCompletionTimeoutMS: graceMs });
  } finally {
    clearTimeout(timer);
  }
}

const LOCK = 'holdfast:start';
const LOOK_EVERY_MS = 50;
/** Beyond it something else is wrong, which the start finds out. */
const WAIT_MAX_MS = 60_000;

/**
 * Waits for its turn to start on a database, and gives the way out. DBOS makes its tables when it is launched: a process that
 * makes them, or reads them, while another one does ends in a deadlock or finds half of a table. No one waits inside a
 * statement, for which the one that makes an index would wait.
 */
export async function acquireStartupLock(database: Pick<Database, 'tryLock'>): Promise<() => Promise<void>> {
  for (let waited = 0; waited < WAIT_MAX_MS; waited += LOOK_EVERY_MS) {
    const lock = await database.tryLock(LOCK);
    if (lock !== null) return () => lock.release();
    await sleep(LOOK_EVERY_MS);
  }
  return () => Promise.resolve();
}

type Listener = (...args: unknown[]) => void;

/** A word of the listener of the Agents SDK that no other one has. */
const OF_THE_SDK = 'hasOtherListenersForEvents';

/**
 * Takes away what the Agents SDK does where a promise is rejected and no one listens: it writes a line without the reason, ends its
 * traces, and ends the process. Returns a function that gives it back.
 */
function quietRejections(): () => void {
  // The provider listens from when it is made, and it is made when it is first asked for.
  getGlobalTraceProvider();
  const taken = process.listeners('unhandledRejection').filter((one) => String(one).includes(OF_THE_SDK));
  for (const one of taken) process.removeListener('unhandledRejection', one);
  return () => {
    for (const one of taken) process.on('unhandledRejection', one as Listener);
  };
}

/** Hears what no one in this process catches, in place of the Agents SDK, until the returned function is called. */
function hearStrays(log: EngineLog, isSilent: boolean): () => void {
  const giveBack = quietRejections();
  const unwatch = watchStrayThrows(hearerOf(log, isSilent));
  return () => {
    unwatch();
    giveBack();
  };
}

/**
 * Uses a private part of the DBOS SDK 5.3: while the database is away DBOS tries again after pauses that double up to a
 * minute. Runs should go on sooner when it is back. Where the part is missing, the minute is what remains.
 */
const MAX_PAUSE_SEC = 5;

const shape = z.object({ dbRetryConfig: z.object({ maxBackoffSec: z.number() }) });

/** False: DBOS has changed inside. */
export function tryAgainSooner(): boolean {
  if (!shape.safeParse(utils).success) return false;
  utils.dbRetryConfig.maxBackoffSec = MAX_PAUSE_SEC;
  return true;
}

/** What DBOS marks its own format by. */
const MARK = '__dbos_serializer';

const isMarked = (value: unknown): boolean => typeof value === 'object' && value !== null && MARK in value;

/**
 * How what steps give is kept: JSON as it is. Everything else, like errors, is kept in the format of DBOS, which goes through each
 * value several times to find what JSON does not have.
 */
export const STEP_FORMAT = {
  name: () => 'holdfast_json',
  stringify: (value: unknown): string =>
    isJson(value) && !isMarked(value) ? JSON.stringify(value) : DBOSJSON.stringify(value),
  parse: (text: string | null | undefined): unknown => {
    if (text === null || text === undefined) return null;
    const value: unknown = JSON.parse(text);
    return isMarked(value) ? DBOSJSON.parse(text) : value;
  },
};
