import { counted } from '../../steps/exports/counted-work.js';
import type { Caller } from '../core/caller.js';
import { HoldfastError } from '../core/errors/errors.js';
import { insertAccess } from '../storage/ops/access-log.js';
import { listAgents } from './agents/list-agents.js';
import { listCharges, listSpend } from './budgets/charge-verbs.js';
import { longWork } from './concurrency/in-line.js';
import { checkpointNow, exportProof, getConsistency, getLog, listLogEntries } from './evidence/log-verbs.js';
import { withAnchor, withAnchors } from './evidence/verify-anchor.js';
import { verifyWholeLog } from './evidence/verify-entries.js';
import { verifyRun, verifyRuns } from './evidence/verify-runs.js';
import { cancelExport, getExport, listExports, startExport } from './exports/export-verbs.js';
import { emitEvent } from './interruptions/emit-event.js';
import { decide, getInterruption, listInterruptions } from './interruptions/interruption-verbs.js';
import { listStandingDecisions, revokeStandingDecision } from './interruptions/standing-verbs.js';
import { repairRun } from './log/repair-run.js';
import { stateAt } from './log/state-at.js';
import { namingTrouble } from './named-verbs.js';
import { health, isReady } from './ops/health.js';
import { exposeMetrics } from './ops/measuring.js';
import { stats } from './ops/stats.js';
import type { Parts } from './parts.js';
import { diffRuns } from './replay/diff-runs.js';
import { forkRun, retryRun } from './replay/fork-run.js';
import { replayVerb } from './replay/replay-verb.js';
import { deleteRun } from './retention/delete-run.js';
import { eraseRun } from './retention/erase-run.js';
import { eraseSubject, getSubjectErasure } from './retention/erase-subject.js';
import { askForRetention, previewRetention } from './retention/retention.js';
import { cancellations } from './runs/cancel-run.js';
import { databaseSession } from './runs/database-session.js';
import { getRun, listEvents, listRuns, streamEvents, streamRun } from './runs/read-runs.js';
import { deleteSession, getSession, listSessionItems, listSessions } from './runs/session-verbs.js';
import { liftWork, listSetAside } from './runs/set-aside-verbs.js';
import { startRun } from './runs/start-run.js';
import { savedStateBackend } from './standalone/saved-state-backend.js';
import { listSystemEvents, streamSystemEvents } from './streaming/system-events.js';
import { requeueTask } from './tasks/requeue-task.js';
import { listRewards, rewardRun } from './tasks/reward-verbs.js';
import { submitTasks } from './tasks/submit-batch.js';
import { submitTask } from './tasks/submit-task.js';
import { cancelTask, getTask, listTasks } from './tasks/task-verbs.js';
import { getTrajectory, listTrajectories, streamTrajectories } from './trajectories/trajectory-verbs.js';
import type { Engine } from './verbs.js';
import { getWorker, listWorkers, stopWorker } from './workers/worker-verbs.js';

export interface Life {
  readonly stop: Engine['stop'];
  readonly isStopping: () => boolean;
  /** Fires when the engine begins to stop, with what those who wait are told. */
  readonly ending: AbortSignal;
}

/** Work that goes through whole logs. */
const READING = { atOnce: 4, waiting: 64, what: 'verifications, comparisons and proofs' };

/** Work that goes through a whole log and writes: each holds a transaction. */
const FORKING = { atOnce: 2, waiting: 64, what: 'forks, retries and repairs' };
/** Nobody who reads a record waits for who verifies. */
const RECORDS = { atOnce: 4, waiting: 64, what: 'readings of trajectories' };

/** The verbs over the parts of a launched engine. */
export function verbsOf(parts: Parts, life: Life): Engine {
  const up = (): Parts => {
    if (life.isStopping()) throw new HoldfastError('engine_not_running', 'The engine is stopping.');
    return parts;
  };
  const cancel = cancellations(parts);
  const reading = longWork(READING, life.ending);
  const forking = longWork(FORKING, life.ending);
  const records = longWork(RECORDS, life.ending);
  const work = <T>(name: string, { tenant }: Caller, does: () => Promise<T>): Promise<T> =>
    counted(up().world, { tenant, name }, does);
  return namingTrouble<Engine>({
    startRun: async (request, caller, key) => startRun(up(), request, caller, key),
    getRun: async (id, caller, options) => getRun(up(), id, caller, options),
    submitTask: async (request, caller, key) => submitTask(up(), request, caller, key),
    submitTasks: (lines, caller, key) => submitTasks(up(), lines, caller, key),
    getTask: async (id, caller) => getTask(up(), id, caller),
    listTasks: async (filter, caller) => listTasks(up(), filter, caller),
    cancelTask: async (id, reason, caller) => cancelTask(up(), id, reason, caller),
    requeueTask: async (id, request, caller) => requeueTask(up(), id, request, caller),
    listRuns: async (filter, caller) => listRuns(up(), filter, caller),
    cancelRun: async (id, reason, caller) => {
      up();
      return cancel(id, reason, caller);
    },
    deleteRun: async (id, caller) => deleteRun(up(), id, caller),
    eraseSubject: async (request, caller) => eraseSubject(up(), request, caller),
    getSubjectErasure: async (id, caller) => getSubjectErasure(up(), id, caller),
    previewRetention: async (caller, of) => previewRetention(up(), caller, of),
    askForRetention: async (caller, of) => askForRetention(up(), caller, of),
    eraseRun: async (id, request, caller) => work(`erase ${id}`, caller, () => eraseRun(up(), id, request, caller)),
    forkRun: (id, request, caller, key, options) =>
      forking(
        (signal) => work(`fork ${id}`, caller, () => forkRun(up(), id, request, caller, key, signal)),
        options?.signal,
      ),
    retryRun: (id, request, caller, key, options) =>
      forking(
        (signal) => work(`retry ${id}`, caller, () => retryRun(up(), id, request, caller, key, signal)),
        options?.signal,
      ),
    listEvents: async (id, options, caller) => listEvents(up(), id, options, caller),
    streamEvents: (id, options, caller) => streamEvents(up(), id, options, caller),
    streamRun: (id, options, caller) => streamRun(up(), id, options, caller),
    getTrajectory: (id, caller, { signal: until, ...steps } = {}) =>
      records((signal) => getTrajectory(up(), id, caller, steps, signal), until),
    listTrajectories: async (filter, caller) => listTrajectories(up(), filter, caller),
    streamTrajectories: (filter, caller) => streamTrajectories(up(), filter, caller),
    rewardRun: async (id, request, caller) => rewardRun(up(), id, request, caller),
    listRewards: async (id, options, caller) => listRewards(up(), id, options, caller),
    verifyRun: (id, caller, range, options) =>
      reading(
        (signal) =>
          work(`verify ${id}`, caller, async () => withAnchor(up(), await verifyRun(up(), id, caller, range, signal))),
        options?.signal,
      ),
    verifyRuns: (filter, caller, options) =>
      reading(
        (signal) =>
          work(`verify runs from ${filter.cursor ?? 'the newest'}`, caller, async () => {
            const { items, nextCursor } = await verifyRuns(up(), filter, caller, signal);
            return { items: await withAnchors(up(), items), nextCursor };
          }),
        options?.signal,
      ),
    repairRun: (id, request, caller, options) =>
      forking(
        (signal) => work(`repair ${id}`, caller, () => repairRun(up(), id, request, caller, signal)),
        options?.signal,
      ),
    stateAt: (id, at, caller, options) =>
      reading((signal) => work(`state ${id}`, caller, () => stateAt(up(), id, at, caller, signal)), options?.signal),
    diffRuns: (a, b, caller, options) =>
      reading((signal) => work(`diff ${a} ${b}`, caller, () => diffRuns(up(), a, b, caller, signal)), options?.signal),
    replayRun: replayVerb(up, life.ending),
    exportProof: (id, { payloads, signal: until }, caller) =>
      reading(
        (signal) => work(`proof ${id}`, caller, () => exportProof(up(), id, { payloads, signal }, caller)),
        until,
      ),
    getLog: async () => getLog(up()),
    checkpointNow: async () => checkpointNow(up()),
    listLogEntries: async (options, caller) => listLogEntries(up(), options, caller),
    getConsistency: async (sizes) => getConsistency(up(), sizes),
    verifyLog: (caller, options) =>
      reading(
        (signal) => work('verify log', caller, () => verifyWholeLog(up(), caller.tenant, signal)),
        options?.signal,
      ),
    startExport: async (request, caller) => startExport(up(), request, caller),
    getExport: async (id, caller) => getExport(up(), id, caller),
    listExports: async (filter, caller) => listExports(up(), filter, caller),
    cancelExport: async (id, caller) => cancelExport(up(), id, caller),
    listCharges: async (id, options, caller) => listCharges(up(), id, options, caller),
    listSpend: async (filter, caller) => listSpend(up(), filter, caller),
    listInterruptions: async (filter, caller) => listInterruptions(up(), filter, caller),
    getInterruption: async (id, caller) => getInterruption(up(), id, caller),
    decide: async (id, decision, caller) => decide(up(), id, decision, caller),
    listStandingDecisions: async (runId, filter, caller) => listStandingDecisions(up(), runId, filter, caller),
    revokeStandingDecision: async (runId, id, caller) => revokeStandingDecision(up(), runId, id, caller),
    listSessions: async (filter, caller) => listSessions(up(), filter, caller),
    getSession: async (id, caller) => getSession(up(), id, caller),
    listSessionItems: async (id, options, caller) => listSessionItems(up(), id, options, caller),
    deleteSession: async (id, caller) => deleteSession(up(), id, caller),
    openSession: (id, caller) => namingTrouble(databaseSession(up().world.knex, caller.tenant, id)),
    emitEvent: async (name, event, caller) => emitEvent(up(), name, event, caller),
    listSystemEvents: async (options, caller) => listSystemEvents(up(), options, caller),
    streamSystemEvents: (options, caller) => streamSystemEvents(up(), options, caller),
    listWorkers: async (filter) => listWorkers(up(), filter),
    getWorker: async (id) => getWorker(up(), id),
    stopWorker: async (id, how) => stopWorker(up(), id, how),
    listSetAside: async () => listSetAside(up()),
    liftWork: async (of) => liftWork(up(), of),
    listAgents: async (filter, caller) => listAgents(up(), filter, caller),
    metrics: async (caller) => exposeMetrics(up().measuring, caller),
    countRequest: (request) => parts.metrics.requested(request),
    health: () => health(parts, life.isStopping()),
    isReady: () => isReady(parts, life.isStopping()),
    stats: async (caller) => stats(up(), caller.tenant),
    recordAccess: async (entry) => insertAccess(up().world.knex, entry),
    runStateBackend: (name, caller) => namingTrouble(savedStateBackend(up().world.knex, caller.tenant, name)),
    stop: life.stop,
  });
}
