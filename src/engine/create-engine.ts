import { randomUUID } from 'node:crypto';
import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';
import type { World } from '../../steps/world.js';
import { installAgentDoors } from '../../workflows/agent-door.js';
import { agentRun, SEGMENT_WORKFLOW } from '../../workflows/agent-run.js';
import { installMcpDoor } from '../../workflows/mcp-door.js';
import { installRunnerDoor } from '../../workflows/runner-door.js';
import { HoldfastError } from '../core/errors.js';
import { MultiModelProvider } from '../models/multi-model-provider.js';
import { MultiModelProviderMap } from '../models/multi-model-provider-map.js';
import { keepAgent } from '../storage/agents.js';
import { type Database, openDatabase } from '../storage/database.js';
import { migrate } from '../storage/migrate.js';
import { notify } from '../storage/notify.js';
import { markStopped } from '../storage/workers.js';
import { McpConnections } from '../tools/mcp-connections.js';
import { type RegisteredAgent, registerAgents } from './agent-registry.js';
import { assertConfig } from './assert-config.js';
import { startBeating } from './beat.js';
import { Changes } from './changes.js';
import type { HoldfastConfig } from './define.js';
import { DeltaHub } from './delta-hub.js';
import { listenNow } from './dispatcher-door.js';
import type { EngineLog, Parts } from './parts.js';
import { RunningSegments } from './running-segments.js';
import { SEGMENT_QUEUE, segmentQueue, WAKE_CHANNEL } from './segment-queue.js';
import type { Engine } from './verbs.js';
import { verbsOf } from './verbs-of.js';
import { becomeWorker, regainLock, type Worker } from './worker.js';

/** Changes only when recorded segments could no longer replay. */
export const RECORDING_VERSION = '1';
export const BUILD = '0.1.0';

const APPLICATION = 'holdfast';
const DELTA_CHANNEL = 'holdfast_deltas';
const LOCK_LOST_MS = 2000;
const DEFAULT_GRACE_MS = 10_000;

export interface EngineConfig extends HoldfastConfig {
  /** PostgreSQL; null: the embedded PGlite in `dataDir`. */
  readonly databaseUrl?: string | null;
  /** Default `.holdfast` in the working directory. */
  readonly dataDir?: string;
  readonly workerId?: string | null;
  /** Segments that work at once in this process. Default 32. */
  readonly concurrency?: number;
  /** Default 50. */
  readonly turnsPerSegment?: number;
  /** Milliseconds; null: approvals never expire. Default seven days. */
  readonly approvalTimeoutMs?: number | null;
  readonly openaiApiKey?: string | null;
  readonly openaiBaseUrl?: string | null;
  readonly ollamaApiKey?: string | null;
  readonly ollamaHost?: string | null;
  readonly log?: EngineLog;
  /** Called once when this process must not work on: it lost its lock for good, or a newer process took over. */
  readonly onFatal?: (error: HoldfastError) => void;
}

const SILENT: EngineLog = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
/** DBOS refuses what a timer cannot hold. */
const graceOf = (asked = DEFAULT_GRACE_MS): number => Math.min(Math.max(0, asked), 2 ** 31 - 1);
const SEVEN_DAYS_MS = 7 * 24 * 3600 * 1000;

/**
 * Opens the database, takes this worker's place, recovers its segments and starts to work. One engine per process. Throws
 * named errors for everything that keeps it from starting, and leaves nothing open then.
 */
export async function createEngine(config: EngineConfig): Promise<Engine> {
  assertConfig(config);
  const agents = registerAgents(config);
  const database = await openDatabase({
    databaseUrl: config.databaseUrl ?? null,
    dataDir: config.dataDir ?? '.holdfast',
  });
  try {
    await migrate(database.knex);
    const worker = await becomeWorker(database, config.workerId ?? null, BUILD);
    return await launch(config, database, worker, agents);
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function launch(
  config: EngineConfig,
  database: Database,
  worker: Worker,
  agents: ReadonlyMap<string, RegisteredAgent>,
): Promise<Engine> {
  const log = config.log ?? SILENT;
  let client: DBOSClient | undefined;
  const theClient = (): DBOSClient => {
    if (client === undefined) throw new Error('the client is there before anything is enqueued');
    return client;
  };
  const changes = new Changes();
  const running = new RunningSegments();
  const send = (payloads: readonly string[]) => notify(database.knex, DELTA_CHANNEL, payloads);
  const deltas = new DeltaHub({ newId: randomUUID, send: database.kind === 'pglite' ? null : send });
  const world: World = {
    knex: database.knex,
    queue: segmentQueue(theClient),
    worker: { id: worker.id, epoch: worker.epoch },
    now: Date.now,
    newId: randomUUID,
    approvalTimeoutMs: config.approvalTimeoutMs === undefined ? SEVEN_DAYS_MS : config.approvalTimeoutMs,
    mcp: new McpConnections(),
    changed: (runId) => changes.announce(runId),
  };
  const parts: Parts = { world, database, agents, changes, deltas, running, log, build: BUILD };
  registerSegments(config, parts);
  DBOS.setConfig({
    name: APPLICATION,
    systemDatabaseUrl: database.url,
    systemDatabasePool: database.pool,
    applicationVersion: RECORDING_VERSION,
    executorID: worker.id,
    logger: quietLogger(log),
  });
  await DBOS.launch();
  client = await DBOSClient.create({
    systemDatabaseUrl: database.url,
    systemDatabasePool: database.pool,
    applicationName: APPLICATION,
  });
  const limits = { workerConcurrency: config.concurrency ?? 32 };
  const queue = await DBOS.registerQueue(SEGMENT_QUEUE, { ...limits, onConflict: 'always_update' });
  for (const { name, version, definitionHash, definition } of agents.values()) {
    await keepAgent(database.knex, { tenant: 'default', name, version, definitionHash, definition });
  }
  const unlisten = await database.listen(WAKE_CHANNEL, () => world.queue.wake());
  // One process owns PGlite: there are no others to hear from.
  if (database.kind !== 'pglite') await database.listen(DELTA_CHANNEL, (payload) => deltas.receive(payload));
  deltas.greet();
  const fatal = once(config.onFatal ?? (() => {}));
  const stopBeating = startBeating(parts, fatal);
  guardLock(parts, worker, fatal);
  listenNow(queue);
  world.queue.wake();
  log.info({ worker: worker.id, epoch: worker.epoch, database: database.kind }, 'the engine works');

  let stopping: Promise<void> | undefined;
  const stop = (options: { readonly graceMs?: number } = {}): Promise<void> => {
    stopping ??= (async () => {
      await stopBeating();
      await unlisten();
      deltas.close();
      await DBOS.shutdown({ deregister: true, workflowCompletionTimeoutMS: graceOf(options.graceMs) });
      await world.mcp.close();
      await client?.destroy();
      await markStopped(database.knex, worker.id, worker.epoch).catch(() => undefined);
      await worker.lock.release().catch(() => undefined);
      await database.close();
    })();
    return stopping;
  };
  return verbsOf(parts, { stop, isStopping: () => stopping !== undefined });
}

function registerSegments(config: EngineConfig, parts: Parts): void {
  installAgentDoors();
  installMcpDoor();
  const map = new MultiModelProviderMap();
  for (const [prefix, provider] of Object.entries(config.providers ?? {})) map.addProvider(prefix, provider);
  const provider = new MultiModelProvider({
    provider_map: map,
    ...(config.openaiApiKey ? { openaiApiKey: config.openaiApiKey } : {}),
    ...(config.openaiBaseUrl ? { openaiBaseUrl: config.openaiBaseUrl } : {}),
    ...(config.ollamaApiKey ? { ollamaApiKey: config.ollamaApiKey } : {}),
    ...(config.ollamaHost ? { ollamaHost: config.ollamaHost } : {}),
  });
  installRunnerDoor(provider);
  const options = {
    world: parts.world,
    agents: parts.agents,
    provider,
    turnsPerSegment: config.turnsPerSegment ?? 50,
    deltas: parts.deltas,
    watch: (runId: string, deadlineAtMs: number | null) =>
      parts.running.watch(runId, deadlineAtMs === null ? null : Math.max(0, deadlineAtMs - parts.world.now())),
  };
  DBOS.registerWorkflow((runId: string, segment: number) => agentRun(options, runId, segment), {
    name: SEGMENT_WORKFLOW,
  });
}

/** Two things may find out that this process must not work on. */
function once(tell: (error: HoldfastError) => void): (error: HoldfastError) => void {
  let told = false;
  return (error) => {
    if (!told) tell(error);
    told = true;
  };
}

/** Without its lock this process cannot know that it is the only one of its worker id. */
function guardLock(parts: Parts, worker: Worker, fatal: (error: HoldfastError) => void): void {
  const { database, log } = parts;
  const watch = (lock: Worker['lock']): void =>
    lock.onLost(() => {
      log.warn({ worker: worker.id }, 'the connection that holds the lock of this worker was lost');
      void regainLock(database, worker.id, LOCK_LOST_MS).then((again) => {
        if (again !== null) return watch(again);
        fatal(new HoldfastError('worker_superseded', `Worker ${worker.id} lost its lock and could not take it again.`));
      });
    });
  watch(worker.lock);
}

const quietLogger = (log: EngineLog) => ({
  debug: (entry: unknown) => log.debug({ entry: String(entry) }, 'dbos'),
  info: (entry: unknown) => log.debug({ entry: String(entry) }, 'dbos'),
  warn: (entry: unknown) => log.warn({ entry: String(entry) }, 'dbos'),
  error: (entry: unknown) => log.error({ entry: String(entry) }, 'dbos'),
});
