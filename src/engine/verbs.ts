import type { Session } from '@openai/agents';
import type { AgentView } from '../core/agents/agent-view.js';
import type { SessionItem, SessionView } from '../core/agents/session.js';
import type { ChargeView } from '../core/budgets/charge.js';
import type { SpendFilter, SpendView } from '../core/budgets/spend.js';
import type { Caller } from '../core/caller.js';
import type { AnchoredReport, ConsistencyView, LogEntryView, LogReport, LogView } from '../core/evidence/log-view.js';
import type { ProofBundle } from '../core/evidence/proof.js';
import type { ExportView, StartExport } from '../core/exports/export.js';
import type { EmitEvent, EmittedEvent } from '../core/interruptions/emitted-event.js';
import type { DecisionRequest, InterruptionView, ListedInterruption } from '../core/interruptions/interruption.js';
import type { StandingDecisionView } from '../core/interruptions/standing.js';
import type { RunDelta } from '../core/log/delta.js';
import type { RunEvent } from '../core/log/event.js';
import type { RepairReport, RepairRequest } from '../core/log/repair.js';
import type { StateAt } from '../core/log/state-at.js';
import type { SystemEvent, SystemGap } from '../core/log/system-event.js';
import type { VerifyRange } from '../core/log/verify-log.js';
import type { Stats } from '../core/ops/stats.js';
import type { Page, PageOf } from '../core/page.js';
import type { ForkRun, RetryRun } from '../core/replay/fork-request.js';
import type { ReplayReport, ReplayRequest } from '../core/replay/replay.js';
import type { RunDiff } from '../core/replay/run-diff.js';
import type { EraseRun, ErasureView } from '../core/retention/erasure.js';
import type { RetentionView } from '../core/retention/retention.js';
import type { EraseSubject, SubjectErasureView } from '../core/retention/subject-erasure.js';
import type { ListedRun, RunStatus, RunView, StartRun } from '../core/runs/run.js';
import type { GiveReward, RewardView } from '../core/tasks/reward.js';
import type { ShownTrajectory, TrajectorySummary } from '../core/trajectories/trajectory.js';
import type { TrajectoryFilter } from '../core/trajectories/trajectory-filter.js';
import type { InterruptionFilter } from '../storage/interruptions/interruptions.js';
import type { AccessRow } from '../storage/ops/access-log.js';
import type { UntilSignal } from './concurrency/in-line.js';
import type { RetentionOf } from './retention/retention.js';
import type { RunStateBackend } from './standalone/run-state-backend.js';
import type { FromPlace, SystemEventPage } from './streaming/system-events.js';
import type { TaskVerbs } from './tasks/task-verb-list.js';
import type { WorkerVerbs } from './workers/worker-verb-list.js';

/** The verbs of the engine. Every door (HTTP, command line, library) calls these and nothing else. */
export interface Engine extends TaskVerbs, WorkerVerbs {
  /**
   * Starts a run. With an idempotency key, the same request again gives the same run; another request under the same key is
   * `idempotency_key_reused`. Throws `session_busy`, `session_full`, `agent_unknown`, `grants_widened`, `capability_invalid`, `invalid_request`.
   */
  startRun(request: StartRun, caller: Caller, idempotencyKey?: string): Promise<RunView>;
  /** Waits up to `waitMs` until the run is paused or over. Throws `run_unknown`. */
  getRun(
    id: string,
    caller: Caller,
    options?: { readonly waitMs?: number; readonly signal?: AbortSignal },
  ): Promise<RunView>;
  /** Newest first. Long inputs and outputs are cut, and `cut` says so. */
  listRuns(
    filter: {
      readonly status?: RunStatus;
      readonly agent?: string;
      /** Only runs that calls of this run started. */
      readonly parent?: string;
      /** Only runs that are about this one, and are not erased. */
      readonly subject?: string;
    } & PageOf,
    caller: Caller,
  ): Promise<Page<ListedRun>>;
  /** Asks a run to stop; a model call or tool in flight is aborted. Repeating it is no error. Throws `run_unknown`, `run_over`. */
  cancelRun(id: string, reason: string | null, caller: Caller): Promise<RunView>;
  /** Removes a run that has not begun, without a trace. Throws `run_unknown` (also of a deleted one), `run_begun`, `run_referenced`. */
  deleteRun(id: string, caller: Caller): Promise<RunView>;
  /**
   * Erases the content of a run that is over, for good; its log still verifies. Repeating it is no error. Throws `run_unknown`,
   * `run_not_over`, `invalid_request`.
   */
  eraseRun(id: string, request: EraseRun, caller: Caller): Promise<ErasureView>;
  /**
   * Erases all runs of a subject, in the background where they are many. Throws `run_not_over` where some are not over and are not to be
   * cancelled, `invalid_request`.
   */
  eraseSubject(request: EraseSubject, caller: Caller): Promise<SubjectErasureView>;
  /** How far it is. Throws `erasure_unknown`. */
  getSubjectErasure(id: string, caller: Caller): Promise<SubjectErasureView>;
  /** What would go now by the retention of the configuration: of the caller's tenant, or of all of them. Throws `forbidden`. */
  previewRetention(caller: Caller, of?: RetentionOf): Promise<RetentionView>;
  /** Has a worker do that now, in the background. Gives what will go. Throws `forbidden`. */
  askForRetention(caller: Caller, of?: RetentionOf): Promise<RetentionView>;
  /**
   * Makes a run that takes over the log of another one up to an event, with edits, and goes on live from there. Throws
   * `run_unknown`, `fork_invalid`, `agent_unknown`, `invalid_request`, `rate_limited`; with an idempotency key as `startRun` does. When the
   * signal fires before it is made, its reason is thrown and nothing is made.
   */
  forkRun(
    id: string,
    request: ForkRun,
    caller: Caller,
    idempotencyKey?: string,
    options?: UntilSignal,
  ): Promise<RunView>;
  /** Goes on from the last good point of a failed run, in a run of its own. Throws `run_not_failed`, and as `forkRun` does. */
  retryRun(
    id: string,
    request: RetryRun,
    caller: Caller,
    idempotencyKey?: string,
    options?: UntilSignal,
  ): Promise<RunView>;
  /** Events after the sequence number `after`, oldest first, as many as 4 MiB of payloads hold. Throws `run_unknown`. */
  listEvents(
    id: string,
    options: { readonly after: number; readonly limit: number },
    caller: Caller,
  ): Promise<Page<RunEvent>>;
  /** Events after `after`, then those that come, until the run is over and all were given, or the signal fires. */
  streamEvents(
    id: string,
    options: { readonly after: number; readonly signal: AbortSignal },
    caller: Caller,
  ): AsyncIterable<RunEvent>;
  /**
   * The same, and between the events what models say while they answer, if the run streams: see docs/streaming.md. A caller who
   * reads slowly loses deltas, never events. What has a `seq` is an event.
   */
  streamRun(
    id: string,
    options: { readonly after: number; readonly signal: AbortSignal },
    caller: Caller,
  ): AsyncIterable<RunEvent | RunDelta>;
  /**
   * The record of a run, with its steps after the step `after`: at most `limit`, 1000 by default, and so many as 32 MiB hold; the
   * last one that is given is `nextStep` while more follow. Totals and scores are those of all. Throws `run_unknown`, `rate_limited`.
   */
  getTrajectory(
    id: string,
    caller: Caller,
    options?: UntilSignal & { readonly after?: number; readonly limit?: number },
  ): Promise<ShownTrajectory>;
  /** Trajectories without their steps, newest first. Throws `invalid_request`. */
  listTrajectories(filter: TrajectoryFilter & PageOf, caller: Caller): Promise<Page<TrajectorySummary>>;
  /**
   * Records with their steps, newest first, one in memory at a time. Of one whose steps take more than 32 MiB `nextStep` is not
   * null: `getTrajectory` has the rest. Throws `invalid_request`.
   */
  streamTrajectories(filter: TrajectoryFilter, caller: Caller): AsyncIterable<ShownTrajectory>;
  /**
   * Says what a run was worth, also after it is over: the next version, which counts from now on. The last one said again by the
   * same actor is the same version. Throws `run_unknown`, `invalid_request`.
   */
  rewardRun(id: string, request: GiveReward, caller: Caller): Promise<RewardView>;
  /** What was said of a run, oldest first, after the version `after`. Throws `run_unknown`. */
  listRewards(
    id: string,
    options: { readonly after: number; readonly limit: number },
    caller: Caller,
  ): Promise<Page<RewardView>>;
  /**
   * Verifies the log of a run, or a range of its events: what it says of itself, what row, head and key of the run say, and how far a
   * signed checkpoint commits to it.
   * Throws `run_unknown`, `invalid_request` (a range that the log does not have), `rate_limited`.
   */
  verifyRun(id: string, caller: Caller, range?: VerifyRange, options?: UntilSignal): Promise<AnchoredReport>;
  /** Verifies all runs that fit, newest first, each as `verifyRun` does. A page may end before its limit where logs are long. */
  verifyRuns(
    filter: { readonly status?: RunStatus; readonly agent?: string } & PageOf,
    caller: Caller,
    options?: UntilSignal,
  ): Promise<Page<AnchoredReport>>;
  /**
   * Says what is broken of a log, and what is lost by it; with `apply`, makes a run that goes on from the last event up to which it is
   * whole. Repeating it gives the same run. Throws `run_unknown`, `run_erased`, `log_whole`, `log_lost`, `repair_repeats`, `run_not_over`,
   * `invalid_request`, `agent_unknown`, `rate_limited`.
   */
  repairRun(id: string, request: RepairRequest, caller: Caller, options?: UntilSignal): Promise<RepairReport>;
  /**
   * The state that the log of a run folds to after an event; undefined: the last. Throws `run_unknown`, `invalid_request`, `log_broken`,
   * `state_unreadable` (payloads were erased), `rate_limited`.
   */
  stateAt(id: string, at: number | undefined, caller: Caller, options?: UntilSignal): Promise<StateAt>;
  /** Where two runs part, and what each did from there. Throws `run_unknown`, `rate_limited`. */
  diffRuns(a: string, b: string, caller: Caller, options?: UntilSignal): Promise<RunDiff>;
  /**
   * Executes the agents of today against the log of a run, without effect, and says where they part from it; with `liveModel` their models
   * are asked. Throws `run_unknown`, `run_erased`, `invalid_request`, `rate_limited` (four live ones are at work, or too many others wait), and the
   * reason of the signal when it fires.
   */
  replayRun(id: string, request: ReplayRequest, caller: Caller, options?: UntilSignal): Promise<ReplayReport>;
  /** What proves the log of a run to others. Throws `run_unknown`, `run_not_anchored`, `log_broken`, `payload_too_large`, `rate_limited`. */
  exportProof(id: string, options: UntilSignal & { readonly payloads: boolean }, caller: Caller): Promise<ProofBundle>;
  /** The log over all runs, and its newest signed checkpoint. */
  getLog(): Promise<LogView>;
  /** Enters what runs have done into that log, and signs it now. */
  checkpointNow(): Promise<LogView>;
  /** Entries from the index `after`, in order. Of other tenants the leaf alone. */
  listLogEntries(
    options: { readonly after: number; readonly limit: number },
    caller: Caller,
  ): Promise<Page<LogEntryView>>;
  /** Throws `invalid_request` where the log has no such sizes, `log_broken`. */
  getConsistency(sizes: { readonly earlier: number; readonly size: number }): Promise<ConsistencyView>;
  /** Verifies the log over all runs. Of other tenants it names no run. Throws `rate_limited`. */
  verifyLog(caller: Caller, options?: UntilSignal): Promise<LogReport>;
  /** Starts an export of trajectories into a folder of the export directory. Throws `invalid_request`. */
  startExport(request: StartExport, caller: Caller): Promise<ExportView>;
  /** Throws `export_unknown`. */
  getExport(id: string, caller: Caller): Promise<ExportView>;
  /** Exports, newest first. */
  listExports(filter: PageOf, caller: Caller): Promise<Page<ExportView>>;
  /** Asks an export to stop. Repeating it is no error. Throws `export_unknown`, `export_over`. */
  cancelExport(id: string, caller: Caller): Promise<ExportView>;
  /** What the model calls of a run cost, in the order of its turns, after the first `after`. Throws `run_unknown`. */
  listCharges(
    id: string,
    options: { readonly after: number; readonly limit: number },
    caller: Caller,
  ): Promise<Page<ChargeView>>;
  /** What the caller's tenant has spent, by day, agent or model. */
  listSpend(filter: SpendFilter & PageOf, caller: Caller): Promise<Page<SpendView>>;
  /** The inbox, oldest first. Long arguments are cut, and `cut` says so. */
  listInterruptions(filter: InterruptionFilter & PageOf, caller: Caller): Promise<Page<ListedInterruption>>;
  getInterruption(id: string, caller: Caller): Promise<InterruptionView>;
  /**
   * Settles an interruption once, or adds one of the approvals that it needs. The same decision by the same actor again gives
   * the same answer; another one throws `decision_conflict`. Also throws `interruption_unknown`, `interruption_expired`,
   * `interruption_cancelled`, `verdict_not_allowed`, `digest_mismatch`, `plain_approval_only`, `invalid_request` (an answer
   * or edited arguments that do not fit), `capability_denied` (an edit that needs what the run is not granted),
   * `capability_invalid` (a scope that is not written like grants). What throws decides nothing.
   */
  decide(id: string, decision: DecisionRequest, caller: Caller): Promise<InterruptionView>;
  /** Decisions that hold for later calls of a run, oldest first, revoked ones too. Throws `run_unknown`. */
  listStandingDecisions(runId: string, filter: PageOf, caller: Caller): Promise<Page<StandingDecisionView>>;
  /**
   * From the next segment on, calls ask again. Repeating it gives the same answer. Throws `run_unknown`,
   * `standing_decision_unknown`, `run_over`.
   */
  revokeStandingDecision(runId: string, id: string, caller: Caller): Promise<StandingDecisionView>;
  /** Sessions, newest first. */
  listSessions(filter: PageOf, caller: Caller): Promise<Page<SessionView>>;
  /** Throws `session_unknown`. */
  getSession(id: string, caller: Caller): Promise<SessionView>;
  /** Items after the place `after`, in order. Throws `session_unknown`. */
  listSessionItems(
    id: string,
    options: { readonly after: number; readonly limit: number },
    caller: Caller,
  ): Promise<Page<SessionItem>>;
  /** Removes a session with its items; its runs stay. Throws `session_unknown`, `session_busy`. */
  deleteSession(id: string, caller: Caller): Promise<SessionView>;
  /** A session for a program that runs agents itself with the Agents SDK. Its writes throw `session_busy`, `session_full`. */
  openSession(id: string, caller: Caller): Session;
  /**
   * Tells runs that something happened: settles every wait that it matches, or is kept for the first that comes. The same
   * `eventId` again is the same event. Throws `invalid_request`, `run_unknown`, `run_over`, `idempotency_key_reused`,
   * `payload_too_large`, `events_full`.
   */
  emitEvent(name: string, event: EmitEvent, caller: Caller): Promise<EmittedEvent>;
  /** What happens in the whole system, as far as it is of the caller's tenant; what is of none, for callers with a role in the installation. Oldest first. docs/system-events.md. */
  listSystemEvents(options: FromPlace & { readonly limit: number }, caller: Caller): Promise<SystemEventPage>;
  /** The same, then what comes, until the signal fires. What has a `seq` is an event. */
  streamSystemEvents(
    options: FromPlace & { readonly signal: AbortSignal },
    caller: Caller,
  ): AsyncIterable<SystemEvent | SystemGap>;
  /** The agents of the configuration, in its order. */
  listAgents(filter: PageOf, caller: Caller): Promise<Page<AgentView>>;
  stats(caller: Caller): Promise<Stats>;
  /** Writes one row of the access log. */
  recordAccess(entry: AccessRow): Promise<void>;
  /** Where a `RunStateStore` keeps the state of a run that is not run by the engine. */
  runStateBackend(name: string, caller: Caller): RunStateBackend;
  /** Drains and closes: no new segment starts, those that run end at their next step or within `graceMs`. */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}
