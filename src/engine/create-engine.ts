import { randomUUID } from 'node:crypto';
import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';
import type { ModelProvider } from '@openai/agents';
import { storedLists } from '../../steps/pin-mcp-tools.js';
import type { World } from '../../steps/world.js';
import { SEGMENT_WORKFLOW } from '../../workflows/agent-run.js';
import { HoldfastError } from '../core/errors.js';
import { retentionOf } from '../core/retention.js';
import { schedulingConfig } from '../core/scheduling.js';
import { stallsConfig } from '../core/stalls.js';
import { taskRetries } from '../core/task-retries.js';
import { Metrics } from '../metrics/metrics.js';
import { keepAgent } from '../storage/agents.js';
import { type Database, openDatabase } from '../storage/database.js';
import { keepLimits, keySegments, type LimitRow } from '../storage/dispatch-limits.js';
import { keyAnew } from '../storage/limited-names.js';
import { migrate } from '../storage/migrate.js';
import { notify } from '../storage/notify.js';
import { markAlone, markStopped } from '../storage/workers.js';
import { McpConnections } from '../tools/mcp-connections.js';
import { type RegisteredAgent, registerAgents } from './agent-registry.js';
import type { Anchor } from './anchor.js';
import { assertConfig } from './assert-config.js';
import { startBeating } from './beat.js';
import { Changes } from './changes.js';
import { shortenCheckpoints } from './checkpoint-door.js';
import { DatabaseClock } from './database-clock.js';
import { DeltaHub } from './delta-hub.js';
import { openQueueDoor } from './dequeue-door.js';
import { Dispatch } from './dispatch.js';
import { limitedIn, limitsIn } from './dispatch-limits.js';
import { limitHere, listenNow, wakeDispatcher } from './dispatcher-door.js';
import { DEFAULT_DATA_DIR, type EngineConfig, withDefaults } from './engine-config.js';
import { openAnchor } from './evidence-config.js';
import { ExportQueue } from './export-queue.js';
import { holdLock } from './hold-lock.js';
import { launchDbos } from './launch-dbos.js';
import { Leave } from './leave.js';
import { Looks } from './looks.js';
import { Measuring } from './measuring.js';
import { type Money, openMoney } from './money-config.js';
import { once } from './once.js';
import { openContainers } from './open-containers.js';
import { openBuckets } from './open-object-store.js';
import type { EngineLog, Parts } from './parts.js';
import { progressGate } from './progress-gate.js';
import { rebuildLeft } from './rebuild-left.js';
import { APPLICATION, RECORDING_VERSION } from './recording-version.js';
import { providerOf, registerSegments } from './register-segments.js';
import { tryAgainSooner } from './retry-door.js';
import { assertServed, routersIn, withRouters } from './routers.js';
import { RunningSegments } from './running-segments.js';
import { SEGMENT_QUEUE, segmentQueue, WAKE_CHANNEL } from './segment-queue.js';
import { shutDbosDown } from './shut-dbos-down.js';
import { startTurn } from './start-turn.js';
import { STEP_FORMAT } from './step-format.js';
import { ProcessGate } from './step-gate.js';
import { Summaries } from './summaries.js';
import { SystemFeed } from './system-events.js';
import { settleLeft } from './takeover.js';
import { TaskOrder } from './task-order.js';
import { tellTrouble } from './tell-trouble.js';
import type { Engine } from './verbs.js';
import { verbsOf } from './verbs-of.js';
import { becomeWorker, type Worker } from './worker.js';
import { workerLog } from './worker-log.js';

const BUILD = '0.1.0';
const DELTA_CHANNEL = 'holdfast_deltas';
const DEFAULT_GRACE_MS = 10_000;

/** DBOS refuses what a timer cannot hold. */
const graceOf = (asked = DEFAULT_GRACE_MS): number => Math.min(Math.max(0, asked), 2 ** 31 - 1);

/**
 * Opens the database, takes this worker's place, recovers its segments and starts to work. One engine per process. Throws
 * named errors for everything that keeps it from starting, and leaves nothing open then.
 */
export async function createEngine(config: EngineConfig): Promise<Engine> {
  assertConfig(config);
  const agents = registerAgents(config);
  const limits = limitsIn(agents.values(), config);
  const money = await openMoney(config, new Set(agents.keys()));
  const { role, capacity, crashLimit, log } = withDefaults(config);
  const routers = routersIn(config, agents);
  const provider = withRouters(routers, { models: providerOf(config), prices: money.prices, log });
  if (role !== 'api') await assertServed(routers, provider);
  const database = await openDatabase({
    databaseUrl: config.databaseUrl ?? null,
    dataDir: config.dataDir ?? DEFAULT_DATA_DIR,
  });
  const metrics = new Metrics();
  try {
    await migrate(database.knex);
    tellTrouble(database.knex, log, metrics);
    const clock = await DatabaseClock.open(database.knex);
    const anchor = await openAnchor(config, database, clock.now);
    const started = await startTurn(database);
    const worker = await becomeWorker(database, {
      ...{ id: config.workerId ?? null, role, capacity, build: BUILD, pid: process.pid },
      ...{ workflow: SEGMENT_WORKFLOW, recordingVersion: RECORDING_VERSION, crashLimit },
    });
    return await launch(
      config,
      { database, clock, worker, started },
      { agents, limits, money, provider, anchor, metrics },
    );
  } catch (error) {
    // It may have been launched before something else failed, and would keep the process.
    await DBOS.shutdown({ deregister: true }).catch(() => undefined);
    await database.close();
    metrics.close();
    throw error;
  }
}

interface Place {
  readonly database: Database;
  readonly clock: DatabaseClock;
  readonly worker: Worker;
  /** Lets the next process start. Closing the database does so, too. */
  readonly started: () => Promise<void>;
}

interface Configured {
  readonly agents: ReadonlyMap<string, RegisteredAgent>;
  readonly limits: readonly LimitRow[];
  readonly money: Money;
  readonly provider: ModelProvider;
  readonly anchor: Anchor;
  readonly metrics: Metrics;
}

async function launch(
  config: EngineConfig,
  { database, clock, worker, started }: Place,
  { agents, limits, money, provider, anchor, metrics }: Configured,
): Promise<Engine> {
  const { role, capacity, crashLimit, approvalTimeoutMs, exportDir, ...defaults } = withDefaults(config);
  const log = workerLog(defaults.log, worker.id);
  let client: DBOSClient | undefined;
  const theClient = (): DBOSClient => {
    if (client === undefined) throw new Error('the client is there before anything is enqueued');
    return client;
  };
  let stepsKeepOutcomes = false;
  const { id, epoch } = worker;
  const self = `${id} ${epoch}`;
  const changes = new Changes();
  const running = new RunningSegments();
  const send = (payloads: readonly string[]) => notify(database.knex, DELTA_CHANNEL, payloads);
  const deltas = new DeltaHub({ newId: randomUUID, send: database.kind === 'pglite' ? null : send });
  const limited = limitedIn(limits, agents.values());
  const looks = new Looks(() => wakeDispatcher(SEGMENT_QUEUE));
  const world: World = {
    knex: database.knex,
    queue: segmentQueue(theClient, { looks, self, limited }),
    worker: { id, epoch },
    now: clock.now,
    newId: randomUUID,
    approvalTimeoutMs,
    ...money,
    metrics,
    mcp: new McpConnections(),
    mcpLists: storedLists(database.knex),
    exportDir,
    buckets: openBuckets(config),
    environments: await openContainers(config, agents.values()),
    rewards: new Map(Object.entries(config.rewards ?? {})),
    changed: (runId, what) => changes.announce(runId, what),
    stepsKeepOutcomes: () => stepsKeepOutcomes,
  };
  const retention = retentionOf(config.retention);
  const order = new TaskOrder(config.scheduling === undefined ? null : schedulingConfig.parse(config.scheduling));
  const retries = taskRetries.parse(config.retries ?? {});
  const stalls = stallsConfig.parse(config.stalls ?? {});
  const exports = new ExportQueue(theClient);
  const parts: Parts = {
    ...{ world, database, agents, models: provider, changes, deltas, running, anchor, exports },
    ...{ role, crashLimit, log, build: BUILD, retention, order, retries, stalls },
    ...{ metrics, measuring: new Measuring({ world, running, role, metrics, build: BUILD }, capacity) },
    ...{ summaries: new Summaries(database.knex), system: new SystemFeed(database.knex) },
  };
  const gate = new ProcessGate((runId) => markAlone(database.knex, id, epoch, runId));
  const leave = new Leave(running);
  registerSegments(config, parts, { gate: progressGate(gate, running), isLeaving: () => leave.hasBegun, provider });
  exports.register(world);
  tryAgainSooner();
  await launchDbos(id, {
    systemDatabaseUrl: database.url,
    systemDatabasePool: database.pool,
    serializer: STEP_FORMAT,
    logger: quietLogger(log),
    ...(role === 'api' ? { listenQueues: [] } : {}),
  });
  stepsKeepOutcomes = shortenCheckpoints();
  // A queue that is registered is looked at from the launch on; nothing of it may be taken before this process is whole.
  let isWhole = false;
  const room = () => (isWhole && !leave.hasBegun ? capacity : 0);
  const dispatch = new Dispatch({ database, worker: id, self, looks, metrics, capacity: room });
  // Before the dispatcher looks for the first time: nothing is waited for between the launch and this.
  if (role !== 'api' && !openQueueDoor(SEGMENT_QUEUE, dispatch)) assertNoLimits(limits);
  await started();
  if (await keepLimits(database.knex, limits)) {
    await keyAnew(database.knex, SEGMENT_QUEUE, limited);
    await notify(database.knex, WAKE_CHANNEL, ['limits']);
  }
  client = await DBOSClient.create({
    systemDatabaseUrl: database.url,
    systemDatabasePool: database.pool,
    serializer: STEP_FORMAT,
    applicationName: APPLICATION,
  });
  if (role !== 'api') {
    const queue = await DBOS.registerQueue(SEGMENT_QUEUE, { workerConcurrency: capacity, onConflict: 'always_update' });
    listenNow(queue);
    limitHere(SEGMENT_QUEUE, room);
    await exports.listen();
  }
  for (const { name, version, definitionHash, definition } of agents.values()) {
    await keepAgent(database.knex, { tenant: 'default', name, version, definitionHash, definition });
  }
  // What this process puts into the queue it knows; to hear of it would only make it look twice.
  const unlisten = await database.listen(WAKE_CHANNEL, (from) => {
    if (from !== self) world.queue.wake();
  });
  // One process owns PGlite: there are no others to hear from.
  if (database.kind !== 'pglite') await database.listen(DELTA_CHANNEL, (payload) => deltas.receive(payload));
  deltas.greet();

  const ending = new AbortController();
  let stopping: Promise<void> | undefined;
  const stop = (options: { readonly graceMs?: number } = {}): Promise<void> => {
    stopping ??= (async () => {
      leave.begin();
      ending.abort(new HoldfastError('engine_not_running', 'The engine is stopping.'));
      dispatch.close();
      await unlisten();
      deltas.close();
      await shutDbosDown(database, graceOf(options.graceMs));
      await stopBeating();
      await anchor.last();
      await world.mcp.close();
      world.environments?.close();
      await client?.destroy();
      await markStopped(database.knex, id, epoch).catch(() => undefined);
      await releaseLock();
      await database.close();
      metrics.close();
    })();
    return stopping;
  };
  // Two things may find out that this process must not work on.
  const fatal = once((error: HoldfastError) => {
    gate.shut();
    config.onFatal?.(error);
    void stop({ graceMs: 0 });
  });
  const stopAsked = leave.onAsked(config.onStopAsked ?? (() => void stop()));
  const stopBeating = startBeating(parts, clock, { superseded: fatal, stopAsked });
  const releaseLock = holdLock({ database, worker, gate, log }, fatal);
  await settleLeft(parts, id, worker.left);
  await keySegments(database.knex, SEGMENT_QUEUE);
  await rebuildLeft(parts);
  isWhole = true;
  world.queue.wake();
  log.info({ component: 'engine', event: 'started', epoch, role, database: database.kind }, 'the engine works');
  return verbsOf(parts, { stop, isStopping: () => stopping !== undefined, ending: ending.signal });
}

/** Where the SDK has changed inside, DBOS chooses what is taken, and knows no limits of ours. */
function assertNoLimits(limits: readonly LimitRow[]): void {
  if (limits.length > 0)
    throw new HoldfastError('library_changed', 'The DBOS SDK that is installed does not let limits be kept.', {
      hint: 'Install the version that package.json names, or remove `concurrency`, `rate`, `tenants`, `images` and `models`.',
    });
}

const quietLogger = (log: EngineLog) => {
  const of = (entry: unknown) => ({ component: 'dbos', event: 'said', entry: String(entry) });
  return {
    debug: (entry: unknown) => log.debug(of(entry), 'dbos'),
    info: (entry: unknown) => log.debug(of(entry), 'dbos'),
    warn: (entry: unknown) => log.warn(of(entry), 'dbos'),
    error: (entry: unknown) => log.error(of(entry), 'dbos'),
  };
};
