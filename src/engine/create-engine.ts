import { randomUUID } from 'node:crypto';
import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';
import type { ModelProvider } from '@openai/agents';
import { storedLists } from '../../steps/calls/pin-mcp-tools.js';
import type { StepContext } from '../../steps/context.js';
import { beginTaken, executeBegun, isBegunAhead } from '../../steps/segment/begin-segment.js';
import { chargedEmbeddings } from '../../workflows/model-turn/charged-embeddings.js';
import type { AlertRule } from '../core/agents/alert-rules.js';
import type { Webhook } from '../core/agents/webhook.js';
import { checkedPlace } from '../core/containers/engine-address.js';
import { HoldfastError } from '../core/errors/errors.js';
import { invalidConfig } from '../core/field-errors.js';
import { isRecord } from '../core/json.js';
import { isWoken } from '../core/queue/dispatch.js';
import { stallsConfig } from '../core/queue/worker.js';
import { retentionOf } from '../core/retention/retention.js';
import { schedulingConfig } from '../core/tasks/scheduling.js';
import { taskRetries } from '../core/tasks/task-retries.js';
import type { EmbeddingProvider } from '../models/providers/embedding-provider.js';
import type { Secret } from '../models/secrets/secret.js';
import { saveAgent } from '../storage/agents/agents.js';
import { namedTrouble } from '../storage/database/database-trouble.js';
import { within } from '../storage/database/timing.js';
import { notify } from '../storage/database/transactions.js';
import { keyAnew } from '../storage/dbos/limited-names.js';
import { enterForgotten } from '../storage/evidence/log-entries.js';
import { MEMORY_EVIDENCE } from '../storage/integrity/proven-memory.js';
import { loadMemoryLibrary } from '../storage/memory/crdt-document.js';
import { SignIndex } from '../storage/memory/sign-index.js';
import { keySegments, type LimitRow, saveLimits } from '../storage/queue/dispatch-limits.js';
import { isOwner, markAlone, markContainers, markLeaving, markStopped } from '../storage/queue/workers.js';
import { leftBehind } from '../storage/tasks/artifacts.js';
import { McpConnections } from '../tools/mcp/mcp-connections.js';
import { type RegisteredAgent, registerAgents } from './agents/agent-registry.js';
import { assertConfig } from './agents/assert-config.js';
import { keepBodies } from './agents/bodies-apart.js';
import { assertServed, routersIn, withRouters } from './agents/routers.js';
import { type Money, openMoney } from './budgets/money-config.js';
import { once } from './concurrency/concurrency-limits.js';
import { whenDatabaseAnswers } from './concurrency/database-wait.js';
import { EngineWatch } from './containers/engine-watch.js';
import {
  collectionOf,
  engineAddress,
  imagesAhead,
  loadContainers,
  openContainers,
} from './containers/open-containers.js';
import { currentExecution, shortenCheckpoints } from './dbos/checkpoint-hook.js';
import { executorOf, hookDequeue } from './dbos/dequeue-hook.js';
import { limitHere, listenNow, wakeDispatcher } from './dbos/dispatcher-hook.js';
import { launchDbos, STEP_FORMAT, shutDbosDown, takeProcess, tryAgainSooner } from './dbos/launch-dbos.js';
import { APPLICATION, RECORDING_VERSION } from './dbos/recording-version.js';
import { providerOf, registerSegments } from './dbos/register-segments.js';
import { type Engine, engineOf } from './engine.js';
import { type EngineConfig, withDefaults } from './engine-config.js';
import type { EngineContext } from './engine-context.js';
import { signAtEnd } from './evidence/log-operations.js';
import { AgentVersions } from './evolution/agent-versions.js';
import { assertEvolution, withEvolution } from './evolution/evolution-agent.js';
import { ExportQueue } from './exports/export-queue.js';
import { openArtifacts, openBuckets, openRepositories } from './exports/open-object-store.js';
import { Changes } from './log/changes.js';
import { longWorkOf } from './long-work.js';
import { assertEmbeddable, embeddingSpaces } from './memory/embed-documents.js';
import { Measuring } from './ops/measuring.js';
import { latestSummaries, runTotals } from './ops/summaries.js';
import { webhooksIn } from './ops/webhooks.js';
import { WriteWatch } from './ops/write-watch.js';
import { alertsIn } from './quality/alerts.js';
import { Dispatch } from './queue/dispatch.js';
import { assertNoLimits, limitedIn, limitsIn } from './queue/dispatch-limits.js';
import { DispatchWaker, SEGMENT_QUEUE, segmentQueue, WAKE_CHANNEL } from './queue/segment-queue.js';
import { replayWaiting } from './replay/replay-run.js';
import { cancellations } from './runs/cancel-run.js';
import { declaredSecrets, knowAll, knowServer, secretFiles } from './secrets/declared-secrets.js';
import { DeltaHub } from './streaming/delta-hub.js';
import { RunNews } from './streaming/run-news.js';
import { SystemFeed } from './streaming/system-events.js';
import { HostFolders } from './tasks/host-folders.js';
import { TaskOrder } from './tasks/task-order.js';
import { LoopWatch } from './workers/loop-watch.js';
import { startMaintenanceLoop } from './workers/maintenance-loop.js';
import { rebuildLeft } from './workers/rebuild-left.js';
import { RunningSegments } from './workers/running-segments.js';
import { Drain, ProcessGate, progressGate } from './workers/step-gate.js';
import { BUILD, type Place, startWaiting, takePlace } from './workers/take-place.js';
import { settleLeft } from './workers/takeover.js';
import { holdLock, WorkerLease } from './workers/worker-lease.js';
import { serverLines, stepLines, WorkerLog } from './workers/worker-log.js';

/** A database that is away must not keep a process from stopping. */
const MARKED_WITHIN_MS = 1000;
const DELTA_CHANNEL = 'holdfast_deltas';

/**
 * Opens the database, takes this worker's place, recovers its segments and starts to work. One engine per process. Throws
 * named errors for everything that keeps it from starting, and leaves nothing open then.
 */
export async function createEngine(given: EngineConfig): Promise<Engine> {
  if (!isRecord(given)) throw invalidConfig('The engine', [{ pointer: '', detail: 'expected a configuration' }]);
  const secrets = declaredSecrets(given);
  await knowAll(secrets);
  assertConfig(given);
  const config = given.log === undefined ? given : { ...given, log: WorkerLog.around(given.log) };
  const exitProcess = takeProcess(config.log);
  try {
    return await start(config, { leaveProcess: exitProcess, secrets });
  } catch (error) {
    exitProcess();
    throw namedTrouble(error) ?? error;
  }
}

type Beginning = Process & Pick<Configured, 'secrets'>;

async function start(given: EngineConfig, { leaveProcess, secrets }: Beginning): Promise<Engine> {
  let working: EngineContext | undefined;
  const engine = (): EngineContext => {
    if (working === undefined) throw new Error('no run is at work before the engine is there');
    return working;
  };
  const config = withEvolution(given, { engine, replayWaiting });
  const agents = registerAgents(config);
  assertEvolution(config.evolution, agents);
  await loadNeeded(config, agents);
  const configured = {
    ...{
      agents,
      alerts: alertsIn(config, agents),
      webhooks: webhooksIn(config),
      limits: limitsIn(agents.values(), config),
    },
    money: await openMoney(config, agents),
  };
  const { role, log } = withDefaults(config);
  const routers = routersIn(config, agents);
  const embeddings = providerOf(config);
  const provider = withRouters(routers, { models: embeddings, prices: configured.money.prices, log });
  if (role !== 'api') {
    await assertServed(routers, provider);
    assertEmbeddable(embeddingSpaces({ agents, memorySpaces: config.memorySpaces ?? [] }), embeddings);
  }
  return whenDatabaseAnswers(startWaiting(config), async () => {
    const place = await takePlace(config);
    WorkerLog.around(log).name(place.worker.id);
    try {
      const attach = (context: EngineContext): void => {
        working = context;
      };
      return await launch(config, { ...place, leaveProcess }, { ...configured, provider, embeddings, secrets, attach });
    } catch (error) {
      // What is left at work would keep the process, and the next try from its place.
      await place.begun.end();
      throw error;
    }
  });
}

/** Before anything is opened. Throws `package_missing`. */
async function loadNeeded(config: EngineConfig, agents: ReadonlyMap<string, RegisteredAgent>): Promise<void> {
  const address = engineAddress(config, agents.values());
  if (address !== null) {
    checkedPlace(address);
    await loadContainers();
  }
  const spaces = config.memorySpaces ?? [];
  if (spaces.length > 0 || [...agents.values()].some(({ memory }) => memory !== null)) await loadMemoryLibrary();
}

interface Process {
  /** Lets the process have another engine, and leaves to others what no one in it catches. */
  readonly leaveProcess: () => void;
}

interface Configured {
  readonly agents: ReadonlyMap<string, RegisteredAgent>;
  readonly alerts: readonly AlertRule[];
  readonly webhooks: readonly Webhook[];
  readonly limits: readonly LimitRow[];
  readonly money: Money;
  readonly provider: ModelProvider;
  readonly embeddings: EmbeddingProvider;
  readonly secrets: readonly Secret[];
  /** Gets the engine that the tools of evolution work in. */
  readonly attach: (context: EngineContext) => void;
}

async function launch(
  config: EngineConfig,
  { database, clock, worker, started, leaveProcess, begun, anchor, metrics }: Place & Process,
  { agents, alerts, webhooks, limits, money, provider, embeddings, secrets, attach }: Configured,
): Promise<Engine> {
  const { role, capacity, crashLimit, stillAfterMs, approvalTimeoutMs, exportDir, log, ...defaults } =
    withDefaults(config);
  const { dockerPatienceMs, offer } = defaults;
  const hostFolders = new HostFolders(config, agents.values(), secretFiles(secrets));
  let client: DBOSClient | undefined;
  const theClient = (): DBOSClient => {
    if (client === undefined) throw new Error('the client is there before anything is enqueued');
    return client;
  };
  let stepsKeepOutcomes = false;
  const { id, epoch } = worker;
  const self = `${id} ${epoch}`;
  const notifyAll = (payloads: readonly string[]) => notify(database.knex, DELTA_CHANNEL, payloads);
  const send = database.kind === 'pglite' ? null : notifyAll;
  const changes = new Changes((runId, what) => news.changed(runId, what));
  const news = new RunNews({ newId: randomUUID, send, onChange: (runId, what) => changes.hear(runId, what) });
  const running = new RunningSegments();
  const deltas = new DeltaHub({ newId: randomUUID, send });
  const limited = limitedIn(limits, agents.values());
  const waker = new DispatchWaker(() => wakeDispatcher(SEGMENT_QUEUE));
  const lease = new WorkerLease(() => isOwner(database.knex, id, epoch));
  const stepContext: StepContext = {
    knex: database.knex,
    queue: segmentQueue(theClient, {
      ...{ waker, worker: { id, epoch }, self, limited, reserve: () => dispatch.reserve() },
      build: { version: String(RECORDING_VERSION), application: APPLICATION },
      begin: async (trx, name) => {
        const begun = await beginTaken(stepContext, trx, name);
        return (work) => executeBegun(begun, work);
      },
    }),
    worker: { id, epoch },
    lease,
    execution: currentExecution,
    now: clock.now,
    newId: randomUUID,
    approvalTimeoutMs,
    ...{ ...money, crashLimit },
    metrics,
    mcp: new McpConnections(config.log === undefined ? null : serverLines(log), knowServer),
    mcpLists: storedLists(database.knex),
    memory: { ...MEMORY_EVIDENCE, enterForgotten },
    embeddings: chargedEmbeddings(embeddings, metrics),
    signs: new SignIndex(),
    exportDir,
    ...{ buckets: openBuckets(config), repositories: openRepositories(config) },
    ...{ artifacts: openArtifacts(config), leftBehind },
    environments: await openContainers(config, agents.values(), hostFolders, metrics),
    readSecrets: () => knowAll(secrets),
    rewards: new Map(Object.entries(config.rewards ?? {})),
    logStep: config.logSteps ? stepLines(log) : null,
    changed: (runId, what) => changes.announce(runId, what),
    stepsKeepOutcomes: () => stepsKeepOutcomes,
  };
  const endBodies = keepBodies(config, log);
  begun.endsWith(endBodies);
  begun.endsWith(() => stepContext.mcp.close());
  begun.endsWith(() => stepContext.environments?.close());
  const retention = retentionOf(config.retention);
  const order = new TaskOrder(config.scheduling === undefined ? null : schedulingConfig.parse(config.scheduling));
  const retries = taskRetries.parse(config.retries ?? {});
  const stalls = stallsConfig.parse(config.stalls ?? {});
  const exports = new ExportQueue(theClient);
  const ending = new AbortController();
  let stopping: Promise<void> | undefined;
  const context: EngineContext = {
    versions: new AgentVersions(database.knex, agents, new Set(config.evolution?.agents)),
    ...{ stepContext, database, agents, models: provider, changes, news, deltas, running, anchor, exports },
    ...{ role, crashLimit, stillAfterMs, log, build: BUILD, retention, order, retries, stalls, alerts, webhooks },
    ...{ hostFolders, imageCollection: collectionOf(config, agents.values()), imagesAhead: imagesAhead(config) },
    ...{ ceilings: defaults.ceilings, memorySpaces: config.memorySpaces ?? [] },
    ...{ metrics, measuring: new Measuring({ stepContext, running, role, metrics, build: BUILD }, capacity) },
    loop: new LoopWatch(log, metrics),
    writes: new WriteWatch(database.knex),
    ...{ summaries: latestSummaries(database.knex), totals: runTotals(database.knex) },
    system: new SystemFeed(database.knex),
    cancel: cancellations({ stepContext, changes, running }),
    long: longWorkOf(stepContext, ending.signal),
    containers: new EngineWatch({
      ...{ stepContext, patienceMs: dockerPatienceMs, log, offer },
      write: (has) => markContainers(database.knex, { id, epoch }, has),
    }),
    defersContainers: () => dispatch.defersContainers(),
    isStopping: () => stopping !== undefined,
  };
  attach(context);
  begun.endsWith(() => context.loop.close());
  const gate = new ProcessGate((runId) => markAlone(database.knex, id, epoch, runId));
  const drain = new Drain(running);
  registerSegments(config, context, { gate: progressGate(gate, running), isLeaving: () => drain.hasBegun, provider });
  exports.register(stepContext);
  tryAgainSooner();
  begun.endsWith(() => DBOS.shutdown({ deregister: true }));
  const system = { systemDatabaseUrl: database.url, systemDatabasePool: database.pool, serializer: STEP_FORMAT };
  await launchDbos(id, { ...system, ...(role === 'api' ? { listenQueues: [] } : {}) }, log);
  stepsKeepOutcomes = shortenCheckpoints(isBegunAhead);
  await context.containers.mark();
  context.containers.begin();
  // A queue that is registered is looked at from the launch on; nothing of it may be taken before this process is whole.
  let isWhole = false;
  const freeSlots = () => (isWhole && !drain.hasBegun ? capacity : 0);
  const { containers } = context;
  const dispatch = new Dispatch({ database, worker: id, self, waker, metrics, capacity: freeSlots, containers });
  begun.endsWith(() => dispatch.close());
  // Before the dispatcher looks for the first time: nothing is waited for between the launch and this.
  if (role !== 'api' && hookDequeue(SEGMENT_QUEUE, dispatch)) dispatch.executeWith(executorOf(SEGMENT_QUEUE));
  else if (role !== 'api') assertNoLimits(limits);
  await started();
  if (await saveLimits(database.knex, limits)) {
    await keyAnew(database.knex, SEGMENT_QUEUE, limited);
    await notify(database.knex, WAKE_CHANNEL, ['limits']);
  }
  client = await DBOSClient.create({ ...system, applicationName: APPLICATION });
  begun.endsWith(() => client?.destroy());
  if (role !== 'api') {
    const queue = await DBOS.registerQueue(SEGMENT_QUEUE, { workerConcurrency: capacity, onConflict: 'always_update' });
    listenNow(queue);
    limitHere(SEGMENT_QUEUE, freeSlots);
    await exports.listen();
  }
  for (const { name, version, definitionHash, definition } of agents.values()) {
    await saveAgent(database.knex, { tenant: 'default', name, version, definitionHash, definition });
  }
  // What this process puts into the queue it knows; to hear of it would only make it look twice.
  const unlisten = await database.listen(WAKE_CHANNEL, (text) => {
    if (isWoken(text, self, news.others, Math.random())) stepContext.queue.wake();
  });
  begun.endsWith(unlisten);
  // One process owns PGlite: there are no others to hear from.
  if (database.kind !== 'pglite')
    await database.listen(DELTA_CHANNEL, (payload) => {
      deltas.receive(payload);
      news.receive(payload);
    });
  for (const greeting of [deltas, news]) {
    greeting.greet();
    begun.endsWith(() => greeting.close());
  }

  const stop = (options: { readonly graceMs?: number } = {}): Promise<void> => {
    stopping ??= (async () => {
      drain.begin();
      ending.abort(new HoldfastError('engine_not_running', 'The engine is stopping.'));
      const marked = markLeaving(database.knex, id, epoch).catch(() => undefined);
      dispatch.close();
      await within(MARKED_WITHIN_MS, marked);
      await unlisten();
      deltas.close();
      news.close();
      await shutDbosDown(database, options.graceMs);
      await endBodies();
      await stopMaintenance();
      await signAtEnd(context);
      await stepContext.mcp.close();
      stepContext.environments?.close();
      await client?.destroy();
      await markStopped(database.knex, id, epoch).catch(() => undefined);
      await releaseLock();
      await database.close();
      metrics.close();
      context.loop.close();
    })().finally(leaveProcess);
    return stopping;
  };
  // Two things may find out that this process must not work on.
  const fatal = once((error: HoldfastError) => {
    gate.shut();
    config.onFatal?.(error);
    void stop({ graceMs: 0 });
  });
  const stopAsked = drain.onAsked(config.onStopAsked ?? (() => void stop()));
  const stopMaintenance = startMaintenanceLoop(context, { clock, lease }, { superseded: fatal, stopAsked });
  begun.endsWith(stopMaintenance);
  const releaseLock = holdLock({ database, worker, gate, log }, fatal);
  begun.endsWith(releaseLock);
  await settleLeft(context, id, worker.left);
  await keySegments(database.knex, SEGMENT_QUEUE);
  await rebuildLeft(context);
  isWhole = true;
  stepContext.queue.wake();
  log.info({ component: 'engine', event: 'started', epoch, role, database: database.kind }, 'the engine works');
  return engineOf(context, stop);
}
