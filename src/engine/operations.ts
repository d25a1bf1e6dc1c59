import { counted } from '../../steps/exports/counted-work.js';
import type { AgentView } from '../core/agents/agent-view.js';
import type { SessionItem } from '../core/agents/session.js';
import type { ChargeView, SpendFilter, SpendView } from '../core/budgets/charge.js';
import type { Caller } from '../core/caller.js';
import type { AnchoredReport } from '../core/evidence/log-view.js';
import type { DecisionCheck } from '../core/interruptions/context.js';
import type { EmitEvent, EmittedEvent } from '../core/interruptions/emitted-event.js';
import type { ApproveRequest, DecisionRequest, InterruptionView } from '../core/interruptions/interruption.js';
import type { StandingDecisionView } from '../core/interruptions/standing.js';
import type { RepairReport, RepairRequest } from '../core/log/repair.js';
import type { StateAt } from '../core/log/state.js';
import type { VerifyRange } from '../core/log/verify-log.js';
import type { Stats } from '../core/ops/stats.js';
import type { Page, PageOf } from '../core/page.js';
import type { WorkerStop, WorkerView } from '../core/queue/worker.js';
import type { ForkRun, RetryRun } from '../core/replay/fork.js';
import type { ReplayReport, ReplayRequest } from '../core/replay/replay.js';
import type { RunDiff } from '../core/replay/run-diff.js';
import type { EraseRun, ErasureView, SubjectErasureView } from '../core/retention/erasure.js';
import type { RunStatus, RunView } from '../core/runs/run.js';
import type { LiftedWork, LiftWork, SetAsideList } from '../core/runs/set-aside.js';
import type { RewardView } from '../core/tasks/reward.js';
import type { ShownTrajectory, TrajectorySummary } from '../core/trajectories/trajectory.js';
import type { TrajectoryFilter } from '../core/trajectories/trajectory-result.js';
import type { Exposition } from '../metrics/metrics.js';
import type { AccessRow } from '../storage/ops/access-log.js';
import { insertAccess } from '../storage/ops/access-log.js';
import { getAgent, getDefinition, listAgents } from './agents/list-agents.js';
import { listCharges, listSpend } from './budgets/charge-operations.js';
import type { UntilSignal } from './concurrency/concurrency-limits.js';
import { readRun } from './dbos/read-queued.js';
import type { EngineContext } from './engine-context.js';
import { LOG_OPERATIONS } from './evidence/operations.js';
import { withAnchor, withAnchors } from './evidence/verify-anchor.js';
import { verifyRun, verifyRuns } from './evidence/verify-runs.js';
import { EVOLUTION_OPERATIONS } from './evolution/operations.js';
import { cancelExport, getExport, listExports, readExportFile, startExport } from './exports/export-operations.js';
import { emitEvent } from './interruptions/emit-event.js';
import { checkApproval, countInterruptions, getInterruptionContext } from './interruptions/inbox-operations.js';
import { decide, decideMany, getInterruption, listInterruptions } from './interruptions/interruption-operations.js';
import { searchRuns } from './interruptions/run-rows.js';
import { listStandingDecisions, revokeStandingDecision } from './interruptions/standing-operations.js';
import { findInLog, getEvent, listEvents, stateAt } from './log/read-log.js';
import { repairRun } from './log/repair-run.js';
import { MEMORY_OPERATIONS } from './memory/memory-operations.js';
import { exposeMetrics } from './ops/measuring.js';
import { ACCESS_OPERATIONS, OVERVIEW_OPERATIONS, stats } from './ops/overview.js';
import { WEBHOOK_OPERATIONS } from './ops/webhooks.js';
import { checkPlan, getPlan } from './plans/plan-operations.js';
import { ALERT_OPERATIONS } from './quality/alerts.js';
import { QUALITY_OPERATIONS } from './quality/group-operations.js';
import { diffRuns } from './replay/diff-runs.js';
import { forkRun, retryRun } from './replay/fork-run.js';
import { replayRun } from './replay/replay-run.js';
import { deleteRun, eraseRun } from './retention/delete-run.js';
import { eraseSubject, getSubjectErasure } from './retention/erase-subject.js';
import { askForRetention, previewRetention } from './retention/retention.js';
import { deleteSession, getSession, listSessionItems, listSessions } from './runs/database-session.js';
import { liftWork, listRuns, listSetAside } from './runs/read-runs.js';
import { bulkRuns, countRuns, getFamily } from './runs/run-counts.js';
import { startRun } from './runs/start-run.js';
import type { FromPlace, SystemEventPage } from './streaming/system-events.js';
import { listSystemEvents } from './streaming/system-events.js';
import { withArtifacts } from './tasks/artifact-operations.js';
import { TASK_OPERATIONS } from './tasks/operations.js';
import { listRewards, rewardRun } from './tasks/reward-operations.js';
import { getTrajectory, listTrajectories } from './trajectories/trajectory-operations.js';
import { getWorker, listWorkers, stopWorker } from './workers/worker.js';

/** A page of a list whose cursor is a place in it. */
interface AfterPlace {
  readonly after: number;
  readonly limit: number;
}

/** What clients ask the engine to do. Once the engine stops, each of them throws `engine_not_running`. */
export const OPERATIONS = {
  /**
   * Starts a run. With an idempotency key, the same request again gives the same run; another request under the same key is
   * `idempotency_key_reused`. Throws `session_busy`, `session_full`, `agent_unknown`, `grants_widened`, `capability_invalid`, `invalid_request`.
   */
  startRun,
  /**
   * Waits up to `waitMs` until the run is paused or over. `waitsFor` says why a run is in the queue. Throws `run_unknown`.
   */
  getRun: readRun,
  /** Newest first. Long inputs and outputs are cut, and `cut` says so. */
  listRuns,
  /** Runs in short, newest first, also by a text. */
  searchRuns,
  /** How many runs fit, by status, error and hour; each count stops at 10,000. */
  countRuns,
  /** The runs above and below a run, and forks of any of them. Throws `run_unknown`. */
  getFamily,
  /** Cancels runs, or tries them again; with an idempotency key once. What is refused stands beside the id. Throws `rate_limited`. */
  bulkRuns,
  /** Asks a run to stop; a model call or tool in flight is aborted. Repeating it is no error. Throws `run_unknown`, `run_over`. */
  cancelRun: (context: EngineContext, id: string, reason: string | null, caller: Caller): Promise<RunView> =>
    context.cancel(id, reason, caller),
  /** Removes a run that has not begun, without a trace. Throws `run_unknown` (also of a deleted one), `run_begun`, `run_referenced`. */
  deleteRun,
  /**
   * Erases the content of a run that is over, for good; its log still verifies. Repeating it is no error. Throws `run_unknown`,
   * `run_not_over`, `invalid_request`.
   */
  eraseRun: (context: EngineContext, id: string, request: EraseRun, caller: Caller): Promise<ErasureView> =>
    counted(context.stepContext, { tenant: caller.tenant, name: `erase ${id}` }, () =>
      eraseRun(context, id, request, caller),
    ),
  /**
   * Erases all runs of a subject, in the background where they are many. Throws `run_not_over` where some are not over and are not to be
   * cancelled, `invalid_request`.
   */
  eraseSubject,
  /** How far it is. Throws `erasure_unknown`. */
  getSubjectErasure: (context: EngineContext, id: string, caller: Caller): Promise<SubjectErasureView> =>
    getSubjectErasure(context, id, caller),
  /** What would go now by the retention of the configuration: of the caller's tenant, or of all of them. Throws `forbidden`. */
  previewRetention,
  /** Has a worker do that now, in the background. Gives what will go. Throws `forbidden`. */
  askForRetention,
  /**
   * Makes a run that takes over the log of another one up to an event, with edits, and goes on live from there. Throws
   * `run_unknown`, `fork_invalid`, `agent_unknown`, `invalid_request`, `rate_limited`; with an idempotency key as `startRun` does. When the
   * signal fires before it is made, its reason is thrown and nothing is made.
   */
  forkRun: (
    context: EngineContext,
    id: string,
    request: ForkRun,
    caller: Caller,
    idempotencyKey?: string,
    options?: UntilSignal,
  ): Promise<RunView> =>
    context.long.forking({ name: `fork ${id}`, caller, ...options }, (signal) =>
      forkRun(context, id, request, caller, idempotencyKey, signal),
    ),
  /** Goes on from the last good point of a failed run, in a run of its own. Throws `run_not_failed`, and as `forkRun` does. */
  retryRun: (
    context: EngineContext,
    id: string,
    request: RetryRun,
    caller: Caller,
    idempotencyKey?: string,
    options?: UntilSignal,
  ): Promise<RunView> =>
    context.long.forking({ name: `retry ${id}`, caller, ...options }, (signal) =>
      retryRun(context, id, request, caller, idempotencyKey, signal),
    ),
  /**
   * Events after the sequence number `after`, oldest first, or before the one of `before`, newest first (null: from the end), as many as 4 MiB
   * of payloads hold. Throws `run_unknown`.
   */
  listEvents,
  /** Throws `run_unknown`, `event_unknown`. */
  getEvent,
  /** Where the log has a text, after the sequence number `after`; a request reads at most 5,000 events. Throws `run_unknown`, `rate_limited`. */
  findInLog,
  /**
   * The record of a run, with its steps after the step `after`: at most `limit`, 1000 by default, and so many as 32 MiB hold; the
   * last one that is given is `nextStep` while more follow. Totals and scores are those of all. Throws `run_unknown`, `rate_limited`.
   */
  getTrajectory: (
    context: EngineContext,
    id: string,
    caller: Caller,
    options: UntilSignal & { readonly after?: number; readonly limit?: number } = {},
  ): Promise<ShownTrajectory> => {
    const { signal: until, ...steps } = options;
    return context.long.records((signal) => getTrajectory(context, id, caller, steps, signal), until);
  },
  /** Trajectories without their steps, newest first. Throws `invalid_request`. */
  listTrajectories: (
    context: EngineContext,
    filter: TrajectoryFilter & PageOf,
    caller: Caller,
  ): Promise<Page<TrajectorySummary>> => listTrajectories(context, filter, caller),
  /**
   * Says what a run was worth, also after it is over: the next version, which counts from now on. The last one said again by the
   * same actor is the same version. Throws `run_unknown`, `invalid_request`.
   */
  rewardRun,
  /** What was said of a run, oldest first, after the version `after`. Throws `run_unknown`. */
  listRewards: (context: EngineContext, id: string, options: AfterPlace, caller: Caller): Promise<Page<RewardView>> =>
    listRewards(context, id, options, caller),
  /**
   * Verifies the log of a run, or a range of its events: what it says of itself, what row, head and key of the run say, and how far a
   * signed checkpoint commits to it. Artifacts are compared with the digests in the log.
   * Throws `run_unknown`, `invalid_request` (a range that the log does not have), `rate_limited`.
   */
  verifyRun: (
    context: EngineContext,
    id: string,
    caller: Caller,
    range?: VerifyRange,
    options?: UntilSignal,
  ): Promise<AnchoredReport> =>
    context.long.reading({ name: `verify ${id}`, caller, ...options }, async (signal) =>
      withArtifacts(
        context,
        await withAnchor(context, await verifyRun(context, id, caller, range, signal)),
        caller,
        signal,
      ),
    ),
  /** Verifies all runs that fit, newest first, each as `verifyRun` does. A page may end before its limit where logs are long. */
  verifyRuns: (
    context: EngineContext,
    filter: { readonly status?: RunStatus; readonly agent?: string } & PageOf,
    caller: Caller,
    options?: UntilSignal,
  ): Promise<Page<AnchoredReport>> =>
    context.long.reading(
      { name: `verify runs from ${filter.cursor ?? 'the newest'}`, caller, ...options },
      async (signal) => {
        const { items, nextCursor } = await verifyRuns(context, filter, caller, signal);
        return { items: await withAnchors(context, items), nextCursor };
      },
    ),
  /**
   * Says what is broken of a log, and what is lost by it; with `apply`, makes a run that goes on from the last event up to which it is
   * whole. Repeating it gives the same run. Throws `run_unknown`, `run_erased`, `log_whole`, `log_lost`, `repair_repeats`, `run_not_over`,
   * `invalid_request`, `agent_unknown`, `rate_limited`.
   */
  repairRun: (
    context: EngineContext,
    id: string,
    request: RepairRequest,
    caller: Caller,
    options?: UntilSignal,
  ): Promise<RepairReport> =>
    context.long.forking({ name: `repair ${id}`, caller, ...options }, (signal) =>
      repairRun(context, id, request, caller, signal),
    ),
  /**
   * The state that the log of a run folds to after an event; undefined: the last. Throws `run_unknown`, `invalid_request`, `log_broken`,
   * `run_erased`, `rate_limited`.
   */
  stateAt: (
    context: EngineContext,
    id: string,
    at: number | undefined,
    caller: Caller,
    options?: UntilSignal,
  ): Promise<StateAt> =>
    context.long.reading({ name: `state ${id}`, caller, ...options }, (signal) =>
      stateAt(context, id, at, caller, signal),
    ),
  /** Where two runs part, and what each did from there. Throws `run_unknown`, `rate_limited`. */
  diffRuns: (context: EngineContext, a: string, b: string, caller: Caller, options?: UntilSignal): Promise<RunDiff> =>
    context.long.reading({ name: `diff ${a} ${b}`, caller, ...options }, (signal) =>
      diffRuns(context, a, b, caller, signal),
    ),
  /**
   * Executes the agents of today against the log of a run, without effect, and says where they part from it; with `liveModel` their models
   * are asked. Throws `run_unknown`, `run_erased`, `invalid_request`, `rate_limited` (four live ones are at work, or too many others wait), and the
   * reason of the signal when it fires.
   */
  replayRun: (
    context: EngineContext,
    id: string,
    request: ReplayRequest,
    caller: Caller,
    options?: UntilSignal,
  ): Promise<ReplayReport> => {
    const line = request.liveModel === true ? context.long.liveReplays : context.long.replays;
    return line({ name: `replay ${id}`, caller, ...options }, (signal) =>
      replayRun(context, id, request, caller, signal),
    );
  },
  ...LOG_OPERATIONS,
  /** Starts an export of trajectories into a folder of the export directory. Throws `invalid_request`. */
  startExport,
  /** Throws `export_unknown`. */
  getExport,
  /** Exports, newest first. */
  listExports,
  /** A file of an export on the disk of this process. Read all of `content`, or end it. Throws `export_unknown`, `export_file_unknown`. */
  readExportFile,
  /** Asks an export to stop. Repeating it is no error. Throws `export_unknown`, `export_over`. */
  cancelExport,
  /** What the model calls of a run cost, in the order of its turns, after the first `after`. Throws `run_unknown`. */
  listCharges: (context: EngineContext, id: string, options: AfterPlace, caller: Caller): Promise<Page<ChargeView>> =>
    listCharges(context, id, options, caller),
  /** What the caller's tenant has spent, by day, agent or model. */
  listSpend: (context: EngineContext, filter: SpendFilter & PageOf, caller: Caller): Promise<Page<SpendView>> =>
    listSpend(context, filter, caller),
  /** The inbox, oldest first. Long arguments are cut, and `cut` says so. */
  listInterruptions,
  getInterruption,
  /** What waits for people; counting stops at 10,000. */
  countInterruptions,
  /** What a person needs to decide. Throws `interruption_unknown`. */
  getInterruptionContext,
  /** Whether an approval would be taken now; decides nothing. Throws `interruption_unknown`. */
  checkApproval: (
    context: EngineContext,
    id: string,
    request: ApproveRequest,
    caller: Caller,
  ): Promise<DecisionCheck> => checkApproval(context, id, request, caller),
  /**
   * Settles an interruption once, or adds one of the approvals that it needs. The same decision by the same actor again gives
   * the same answer; another one throws `decision_conflict`. Also throws `interruption_unknown`, `interruption_expired`,
   * `interruption_cancelled`, `verdict_not_allowed`, `digest_mismatch`, `plain_approval_only`, `invalid_request` (an answer
   * or edited arguments that do not fit), `capability_denied` (an edit that needs what the run is not granted),
   * `capability_invalid` (a scope that is not written like grants). What throws decides nothing.
   */
  decide: (context: EngineContext, id: string, decision: DecisionRequest, caller: Caller): Promise<InterruptionView> =>
    decide(context, id, decision, caller),
  /** Decides approvals of calls, each by itself. What is refused stands beside the id. */
  decideMany,
  /** Decisions that hold for later calls of a run, oldest first, revoked ones too. Throws `run_unknown`. */
  listStandingDecisions: (
    context: EngineContext,
    runId: string,
    filter: PageOf,
    caller: Caller,
  ): Promise<Page<StandingDecisionView>> => listStandingDecisions(context, runId, filter, caller),
  /**
   * From the next segment on, calls ask again. Repeating it gives the same answer. Throws `run_unknown`,
   * `standing_decision_unknown`, `run_over`.
   */
  revokeStandingDecision,
  /** Sessions, newest first. */
  listSessions,
  /** Throws `session_unknown`. */
  getSession,
  /** Items after the place `after`, in order. Throws `session_unknown`. */
  listSessionItems: (
    context: EngineContext,
    id: string,
    options: AfterPlace,
    caller: Caller,
  ): Promise<Page<SessionItem>> => listSessionItems(context, id, options, caller),
  /** Removes a session with its items; its runs stay. Throws `session_unknown`, `session_busy`. */
  deleteSession,
  /**
   * Tells runs that something happened: settles every wait that it matches, or is kept for the first that comes. The same
   * `eventId` again is the same event. Throws `invalid_request`, `run_unknown`, `run_over`, `idempotency_key_reused`,
   * `payload_too_large`, `events_full`.
   */
  emitEvent: (context: EngineContext, name: string, event: EmitEvent, caller: Caller): Promise<EmittedEvent> =>
    emitEvent(context, name, event, caller),
  ...MEMORY_OPERATIONS,
  ...TASK_OPERATIONS,
  ...QUALITY_OPERATIONS,
  /** What happens in the whole system, as far as it is of the caller's tenant; what is of none, for callers with a role in the installation. Oldest first. docs/system-events.md. */
  listSystemEvents: (
    context: EngineContext,
    options: FromPlace & { readonly limit: number },
    caller: Caller,
  ): Promise<SystemEventPage> => listSystemEvents(context, options, caller),
  /** The processes of this database, by id. They serve all tenants. */
  listWorkers: (context: EngineContext, filter: PageOf): Promise<Page<WorkerView>> => listWorkers(context, filter),
  /** Throws `worker_unknown`. */
  getWorker,
  /** Asks a worker to stop; it sees that within a second. Repeating it is no error. Throws `worker_unknown`. */
  stopWorker: (context: EngineContext, id: string, how: WorkerStop): Promise<WorkerView> =>
    stopWorker(context, id, how),
  /** Work beside the runs, of all tenants, that is not begun any more since processes died with it; the newest 100. docs/operate/crash-limits.md. */
  listSetAside: (context: EngineContext): Promise<SetAsideList> => listSetAside(context),
  /** Forgets the deaths with a piece of work, so that it is begun again. Repeating it is no error. */
  liftWork: (context: EngineContext, work: LiftWork): Promise<LiftedWork> => liftWork(context, work),
  /** A plan of the configuration, with everything that it can need. Throws `agent_unknown`. */
  getPlan,
  /** Checks a plan in the place of one of the configuration. Throws `agent_unknown`. */
  checkPlan,
  ...EVOLUTION_OPERATIONS,
  /** The agents of the configuration, in its order. */
  listAgents: (context: EngineContext, filter: PageOf, caller: Caller): Promise<Page<AgentView>> =>
    listAgents(context, filter, caller),
  /** An agent of the configuration, with its definition. Throws `agent_unknown`. */
  getAgent,
  /** A definition that runs of an agent have had. Throws `agent_unknown`, `row_changed`. */
  getDefinition,
  /** What Prometheus reads of this process and of the database. Throws `forbidden` where the caller has no role in the installation. */
  metrics: (context: EngineContext, caller: Caller): Promise<Exposition> => exposeMetrics(context.measuring, caller),
  ...OVERVIEW_OPERATIONS,
  ...ALERT_OPERATIONS,
  ...WEBHOOK_OPERATIONS,
  ...ACCESS_OPERATIONS,
  stats: (context: EngineContext, caller: Caller): Promise<Stats> => stats(context, caller.tenant),
  /** Writes one row of the access log. */
  recordAccess: (context: EngineContext, entry: AccessRow): Promise<void> =>
    insertAccess(context.stepContext.knex, entry),
};
