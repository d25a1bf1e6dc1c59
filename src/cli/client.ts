import { z } from 'zod';
import { type SessionItem, type SessionView, sessionItem, sessionView } from '../core/agents/session.js';
import { type ChargeView, chargeView } from '../core/budgets/charge.js';
import { type SpendFilter, type SpendView, spendView } from '../core/budgets/spend.js';
import {
  type AnchoredReport,
  anchoredReport,
  type LogReport,
  type LogView,
  logReport,
  logView,
} from '../core/evidence/log-view.js';
import { type ProofBundle, proofBundle } from '../core/evidence/proof.js';
import { type ExportView, exportView, type StartExport } from '../core/exports/export.js';
import { type EmitEvent, type EmittedEvent, emittedEvent } from '../core/interruptions/emitted-event.js';
import {
  type DecisionRequest,
  type InterruptionStatus,
  type InterruptionView,
  interruptionView,
  type ListedInterruption,
  listedInterruption,
} from '../core/interruptions/interruption.js';
import { type StandingDecisionView, standingDecisionView } from '../core/interruptions/standing.js';
import type { RunDelta } from '../core/log/delta.js';
import { type RunEvent, runEvent } from '../core/log/event.js';
import { type RepairReport, type RepairRequest, repairReport } from '../core/log/repair.js';
import { type StateAt, stateAt } from '../core/log/state-at.js';
import type { VerifyRange } from '../core/log/verify-log.js';
import { type Health, health } from '../core/ops/health.js';
import { type Stats, stats } from '../core/ops/stats.js';
import type { Page } from '../core/page.js';
import { type WorkerStop, type WorkerView, workerView } from '../core/queue/worker.js';
import type { ForkRun, RetryRun } from '../core/replay/fork-request.js';
import { type ReplayReport, type ReplayRequest, replayReport } from '../core/replay/replay.js';
import { type RunDiff, runDiff } from '../core/replay/run-diff.js';
import { type EraseRun, type ErasureView, erasureView } from '../core/retention/erasure.js';
import { type RetentionView, retentionView } from '../core/retention/retention.js';
import { type EraseSubject, type SubjectErasureView, subjectErasureView } from '../core/retention/subject-erasure.js';
import { type ListedRun, listedRun, type RunStatus, type RunView, runView, type StartRun } from '../core/runs/run.js';
import { type LiftedWork, type LiftWork, liftedWork, type SetAsideList, setAsideList } from '../core/runs/set-aside.js';
import { type GiveReward, type RewardView, rewardView } from '../core/tasks/reward.js';
import { type RequeueTask, type SubmitTask, type TaskFilter, type TaskView, taskView } from '../core/tasks/task.js';
import type { BatchAnswer } from '../core/tasks/task-batch.js';
import {
  type ShownTrajectory,
  shownTrajectory,
  type TrajectorySummary,
  trajectorySummary,
} from '../core/trajectories/trajectory.js';
import type { TrajectoryFilter } from '../core/trajectories/trajectory-filter.js';
import { readAnswers } from './commands/tasks/batch-answers.js';
import { readStream } from './event-stream.js';
import { errorOfAnswer, notHoldfast, unreachable } from './problem-answer.js';

export interface PageOptions {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** What narrows the inbox. `expiresBefore` is a time as RFC 3339 writes it. */
export interface InboxFilter {
  readonly run?: string | undefined;
  readonly agent?: string | undefined;
  readonly tool?: string | undefined;
  readonly kind?: string | undefined;
  readonly expiresBefore?: string | undefined;
}

export type TrajectoryQuery = { readonly [name in keyof TrajectoryFilter]?: TrajectoryFilter[name] | undefined };

/** The verbs over HTTP. All throw `server_unreachable`, and the errors that the server answers with. */
export interface Client {
  readonly url: string;
  startRun(request: StartRun, idempotencyKey: string): Promise<RunView>;
  getRun(id: string, waitSeconds?: number, signal?: AbortSignal): Promise<RunView>;
  listRuns(
    filter: PageOptions & { status?: RunStatus | undefined; agent?: string | undefined; parent?: string | undefined },
  ): Promise<Page<ListedRun>>;
  cancelRun(id: string, reason?: string): Promise<RunView>;
  submitTask(request: SubmitTask, idempotencyKey: string): Promise<TaskView>;
  /** Sends lines as they are and gives the answers as they come. */
  submitTasks(lines: ReadableStream<Uint8Array>, idempotencyKey: string): AsyncGenerator<BatchAnswer, void>;
  getTask(id: string): Promise<TaskView>;
  listTasks(filter: PageOptions & { [name in keyof TaskFilter]?: string | undefined }): Promise<Page<TaskView>>;
  cancelTask(id: string): Promise<TaskView>;
  requeueTask(id: string, request: RequeueTask): Promise<TaskView>;
  deleteRun(id: string): Promise<RunView>;
  eraseRun(id: string, request: EraseRun): Promise<ErasureView>;
  eraseSubject(request: EraseSubject): Promise<SubjectErasureView>;
  getSubjectErasure(id: string): Promise<SubjectErasureView>;
  previewRetention(allTenants: boolean): Promise<RetentionView>;
  askForRetention(allTenants: boolean): Promise<RetentionView>;
  forkRun(id: string, request: ForkRun, idempotencyKey: string): Promise<RunView>;
  retryRun(id: string, request: RetryRun, idempotencyKey: string): Promise<RunView>;
  listInterruptions(
    filter: PageOptions & InboxFilter & { status?: InterruptionStatus | undefined },
  ): Promise<Page<ListedInterruption>>;
  decide(id: string, decision: DecisionRequest): Promise<InterruptionView>;
  listStandingDecisions(runId: string, options: PageOptions): Promise<Page<StandingDecisionView>>;
  revokeStandingDecision(runId: string, id: string): Promise<StandingDecisionView>;
  emitEvent(name: string, event: EmitEvent): Promise<EmittedEvent>;
  listEvents(id: string, options: PageOptions): Promise<Page<RunEvent>>;
  /** Events after a sequence number, live, until the run is over. Throws when the connection ends before. */
  streamEvents(id: string, after: number, signal: AbortSignal): AsyncGenerator<RunEvent, void>;
  /** The same, with what models say while they answer between the events. */
  streamRun(id: string, after: number, signal: AbortSignal): AsyncGenerator<RunEvent | RunDelta, void>;
  listTrajectories(filter: PageOptions & TrajectoryQuery): Promise<Page<TrajectorySummary>>;
  /** A page of its steps, after a step. */
  getTrajectory(id: string, after?: number): Promise<ShownTrajectory>;
  rewardRun(id: string, request: GiveReward): Promise<RewardView>;
  listRewards(id: string, options: PageOptions): Promise<Page<RewardView>>;
  verifyRun(id: string, range?: VerifyRange): Promise<AnchoredReport>;
  verifyRuns(
    filter: PageOptions & { status?: RunStatus | undefined; agent?: string | undefined },
  ): Promise<Page<AnchoredReport>>;
  repairRun(id: string, request: RepairRequest): Promise<RepairReport>;
  stateAt(id: string, at?: number): Promise<StateAt>;
  diffRuns(a: string, b: string): Promise<RunDiff>;
  replayRun(id: string, request: ReplayRequest): Promise<ReplayReport>;
  exportProof(id: string, payloads: boolean): Promise<ProofBundle>;
  getLog(): Promise<LogView>;
  checkpointNow(): Promise<LogView>;
  verifyLog(): Promise<LogReport>;
  startExport(request: StartExport): Promise<ExportView>;
  getExport(id: string): Promise<ExportView>;
  listExports(options: PageOptions): Promise<Page<ExportView>>;
  cancelExport(id: string): Promise<ExportView>;
  listCharges(id: string, options: PageOptions): Promise<Page<ChargeView>>;
  listSpend(filter: PageOptions & { [name in keyof SpendFilter]?: string | undefined }): Promise<Page<SpendView>>;
  getHealth(): Promise<Health>;
  getStats(): Promise<Stats>;
  listSessions(options: PageOptions): Promise<Page<SessionView>>;
  listSessionItems(id: string, options: PageOptions): Promise<Page<SessionItem>>;
  deleteSession(id: string): Promise<SessionView>;
  listWorkers(options: PageOptions): Promise<Page<WorkerView>>;
  getWorker(id: string): Promise<WorkerView>;
  stopWorker(id: string, how: WorkerStop): Promise<WorkerView>;
  listSetAside(): Promise<SetAsideList>;
  liftWork(work: LiftWork): Promise<LiftedWork>;
}

const pageOf = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item), nextCursor: z.string().nullable() });

interface Ask {
  readonly query?: { readonly [name: string]: string | number | undefined };
  readonly body?: unknown;
  /** In place of a body. */
  readonly lines?: ReadableStream<Uint8Array>;
  readonly headers?: { readonly [name: string]: string };
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

const ANSWER_TIMEOUT_MS = 90_000;
/** A live replay works for four minutes at most. `fetch` waits five for an answer to begin. */
const LIVE_REPLAY_TIMEOUT_MS = 300_000;
const GET = 'GET';
const POST = 'POST';

const retentionAt = (allTenants: boolean): string => (allTenants ? '/installation/retention' : '/retention');

export function createClient(baseUrl: string, token: string): Client {
  const url = baseUrl.replace(/\/+$/, '');

  async function send(
    method: string,
    path: string,
    { query = {}, body, lines, headers, signal }: Ask,
  ): Promise<Response> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
    try {
      return await fetch(`${url}/api/v1${path}${search.size === 0 ? '' : `?${search}`}`, {
        method,
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(lines === undefined ? {} : { body: lines, duplex: 'half' as const }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (cause) {
      throw unreachable(url, cause);
    }
  }

  async function ask<T>(schema: z.ZodType<T>, method: string, path: string, options: Ask = {}): Promise<T> {
    const timeout = AbortSignal.timeout(options.timeoutMs ?? ANSWER_TIMEOUT_MS);
    const signal = options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]);
    const response = await send(method, path, { ...options, signal });
    let body: unknown;
    try {
      body = JSON.parse(await response.text());
    } catch (cause) {
      throw response.ok && !(cause instanceof SyntaxError)
        ? unreachable(url, cause)
        : notHoldfast(url, `status ${response.status}`);
    }
    if (!response.ok) throw errorOfAnswer(url, response.status, body);
    const parsed = schema.safeParse(body);
    if (parsed.success) return parsed.data;
    throw notHoldfast(url, `an answer of another shape at /${parsed.error.issues[0]?.path.join('/') ?? ''}`);
  }

  const keyed = (key: string) => ({ 'Idempotency-Key': `"${key.replaceAll(/["\\]/g, '\\$&')}"` });
  async function* stream(id: string, after: number, deltas: boolean, signal: AbortSignal) {
    const headers = { Accept: 'text/event-stream', 'Last-Event-ID': String(after) };
    const query = { deltas: String(deltas) };
    const response = await send(GET, `${run(id)}/events`, { query, headers, signal });
    if (!response.ok) throw errorOfAnswer(url, response.status, await response.json().catch(() => null));
    if (response.body === null) throw notHoldfast(url, 'an empty stream');
    yield* readStream(url, response.body);
  }

  async function* batch(lines: ReadableStream<Uint8Array>, key: string) {
    const headers = { 'Content-Type': 'application/x-ndjson', 'Idempotency-Key': key };
    const response = await send('POST', '/tasks/batch', { lines, headers });
    if (!response.ok) throw errorOfAnswer(url, response.status, await response.json().catch(() => null));
    if (response.body === null) throw notHoldfast(url, 'an empty answer');
    yield* readAnswers(url, response.body);
  }

  const run = (id: string): string => `/runs/${encodeURIComponent(id)}`;
  const task = (id: string): string => `/tasks/${encodeURIComponent(id)}`;
  const worker = (id: string): string => `/workers/${encodeURIComponent(id)}`;
  const exported = (id: string): string => `/trajectories/exports/${encodeURIComponent(id)}`;
  const session = (id: string): string => `/sessions/${encodeURIComponent(id)}`;
  const standing = (runId: string): string => `${run(runId)}/standing-decisions`;
  return {
    url,
    startRun: (body, key) => ask(runView, POST, '/runs', { body, headers: keyed(key) }),
    getRun: (id, wait = 0, signal) => ask(runView, GET, run(id), { query: { wait }, signal }),
    listRuns: (query) => ask(pageOf(listedRun), GET, '/runs', { query: { ...query } }),
    cancelRun: (id, reason) =>
      ask(runView, POST, `${run(id)}/cancel`, { body: reason === undefined ? {} : { reason } }),
    submitTask: (body, key) => ask(taskView, POST, '/tasks', { body, headers: keyed(key) }),
    getTask: (id) => ask(taskView, GET, task(id)),
    listTasks: (query) => ask(pageOf(taskView), GET, '/tasks', { query: { ...query } }),
    cancelTask: (id) => ask(taskView, 'DELETE', task(id)),
    requeueTask: (id, body) => ask(taskView, POST, `${task(id)}/requeue`, { body }),
    deleteRun: (id) => ask(runView, 'DELETE', run(id)),
    eraseRun: (id, body) => ask(erasureView, POST, `${run(id)}/erase`, { body }),
    eraseSubject: (body) => ask(subjectErasureView, POST, '/erasures', { body }),
    getSubjectErasure: (id) => ask(subjectErasureView, GET, `/erasures/${encodeURIComponent(id)}`),
    previewRetention: (allTenants) => ask(retentionView, GET, retentionAt(allTenants)),
    askForRetention: (allTenants) => ask(retentionView, POST, retentionAt(allTenants), { body: {} }),
    forkRun: (id, body, key) => ask(runView, POST, `${run(id)}/fork`, { body, headers: keyed(key) }),
    retryRun: (id, body, key) => ask(runView, POST, `${run(id)}/retry`, { body, headers: keyed(key) }),
    listInterruptions: (query) => ask(pageOf(listedInterruption), GET, '/interruptions', { query: { ...query } }),
    decide: (id, { verdict, ...body }) =>
      ask(interruptionView, POST, `/interruptions/${encodeURIComponent(id)}/${verdict}`, { body }),
    listStandingDecisions: (id, query) => ask(pageOf(standingDecisionView), GET, standing(id), { query: { ...query } }),
    revokeStandingDecision: (runId, id) =>
      ask(standingDecisionView, 'DELETE', `${standing(runId)}/${encodeURIComponent(id)}`),
    emitEvent: (name, body) => ask(emittedEvent, POST, `/events/${encodeURIComponent(name)}`, { body }),
    listEvents: (id, query) => ask(pageOf(runEvent), GET, `${run(id)}/events`, { query: { ...query } }),
    async *streamEvents(id, after, signal) {
      for await (const one of stream(id, after, false, signal)) if ('seq' in one) yield one;
    },
    submitTasks: batch,
    streamRun: (id, after, signal) => stream(id, after, true, signal),
    listTrajectories: (query) => ask(pageOf(trajectorySummary), GET, '/trajectories', { query: { ...query } }),
    getTrajectory: (id, after = 0) =>
      ask(shownTrajectory, GET, `/trajectories/${encodeURIComponent(id)}`, { query: { after } }),
    rewardRun: (id, body) => ask(rewardView, POST, `${run(id)}/reward`, { body }),
    listRewards: (id, query) => ask(pageOf(rewardView), GET, `${run(id)}/rewards`, { query: { ...query } }),
    startExport: (body) => ask(exportView, POST, '/trajectories/export', { body }),
    getExport: (id) => ask(exportView, GET, exported(id)),
    listExports: (query) => ask(pageOf(exportView), GET, '/trajectories/exports', { query: { ...query } }),
    cancelExport: (id) => ask(exportView, POST, `${exported(id)}/cancel`, { body: {} }),
    listSessions: (query) => ask(pageOf(sessionView), GET, '/sessions', { query: { ...query } }),
    listSessionItems: (id, query) => ask(pageOf(sessionItem), GET, `${session(id)}/items`, { query: { ...query } }),
    deleteSession: (id) => ask(sessionView, 'DELETE', session(id)),
    listWorkers: (query) => ask(pageOf(workerView), GET, '/workers', { query: { ...query } }),
    getWorker: (id) => ask(workerView, GET, worker(id)),
    stopWorker: (id, body) => ask(workerView, POST, `${worker(id)}/stop`, { body }),
    listSetAside: () => ask(setAsideList, GET, '/work'),
    liftWork: (body) => ask(liftedWork, POST, '/work/lift', { body }),
    listCharges: (id, query) => ask(pageOf(chargeView), GET, `${run(id)}/charges`, { query: { ...query } }),
    listSpend: (query) => ask(pageOf(spendView), GET, '/spend', { query: { ...query } }),
    getHealth: () => ask(health, GET, '/health'),
    getStats: () => ask(stats, GET, '/stats'),
    verifyRun: (id, range = {}) => ask(anchoredReport, POST, `${run(id)}/verify`, { body: range }),
    stateAt: (id, at) => ask(stateAt, GET, `${run(id)}/state`, { query: { at } }),
    diffRuns: (a, b) => ask(runDiff, GET, `${run(a)}/diff/${encodeURIComponent(b)}`),
    verifyRuns: (query) => ask(pageOf(anchoredReport), GET, '/verify', { query: { ...query } }),
    repairRun: (id, body) => ask(repairReport, POST, `${run(id)}/repair`, { body }),
    replayRun: (id, body) =>
      ask(replayReport, POST, `${run(id)}/replay`, {
        ...{ body, timeoutMs: body.liveModel === true ? LIVE_REPLAY_TIMEOUT_MS : ANSWER_TIMEOUT_MS },
      }),
    exportProof: (id, payloads) => ask(proofBundle, GET, `${run(id)}/proof`, { query: { payloads: String(payloads) } }),
    getLog: () => ask(logView, GET, '/log/checkpoint'),
    checkpointNow: () => ask(logView, POST, '/log/checkpoint', { body: {} }),
    verifyLog: () => ask(logReport, POST, '/log/verify', { body: {} }),
  };
}
