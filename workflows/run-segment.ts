import { setTimeout as sleep } from 'node:timers/promises';
import { DBOS } from '@dbos-inc/dbos-sdk';
import { type Agent, type ModelProvider, RunContext, Runner, RunState } from '@openai/agents';
import { itemsOfInput } from '../src/core/agents/session.js';
import { HoldfastError } from '../src/core/errors/errors.js';
import { parseGrants } from '../src/core/grants/grants.js';
import { standingOf } from '../src/core/interruptions/standing.js';
import { toJson } from '../src/core/json.js';
import type { Deltas } from '../src/core/log/delta.js';
import { SUSPECT_AFTER, suspectWaitsMs } from '../src/core/queue/crashes.js';
import { taskTypeIn } from '../src/core/routing/route-need.js';
import type { Ending } from '../src/core/runs/ending.js';
import { isOver, NO_USAGE } from '../src/core/runs/run.js';
import type { RunTask } from '../src/core/tasks/run-task.js';
import { breathe } from '../src/storage/database/breathe.js';
import { crashesOf } from '../src/storage/dbos/takeover.js';
import { grantsOf, inputOf, limitsOf, metadataOf, type RunRow } from '../src/storage/runs/run-row.js';
import type { StartableAgent } from '../steps/agents/start-child.js';
import type { StepContext } from '../steps/context.js';
import { isTransient, withDatabaseRetry } from '../steps/database-retry.js';
import {
  beginSegment,
  compareBegin,
  compareCounts,
  type LoadedSegment,
  reloadSegment,
  type SegmentStart,
  startOf,
} from '../steps/segment/begin-segment.js';
import { endSegment } from '../steps/segment/end-segment.js';
import { logWriter } from '../steps/segment/write-log.js';
import { taskOfRun } from '../steps/verification/task-of-run.js';
import { abandonOnDatabaseOutage } from './durable-step.js';
import { outcomeFromError } from './ending-of-error.js';
import { durableProvider } from './model-turn/durable-model.js';
import { budgetsOf } from './model-turn/model-budgets.js';
import { restoreOutput } from './model-turn/trim-history.js';
import { recordedOf, storedState } from './resume/rebuild-state.js';
import { resumeState } from './resume/resume-state.js';
import { stateText } from './resume/state-text.js';
import { inSegment, newSegmentContext, type RunFacts, type SegmentContext, type StepGate } from './segment-context.js';
import { SegmentLog } from './segment-log.js';
import { waitForApprovals } from './tool-calls/approvals.js';
import { prepareRun } from './verification/prepare-run.js';
import { verifyRun } from './verification/verify-run.js';

/** An agent as a worker runs it. */
export interface RunnableAgent extends StartableAgent {
  readonly agent: Agent;
  readonly onDenied: 'stop' | 'tell';
  readonly onTruncated: 'fail' | 'continue';
  readonly separateRequester: RunFacts['separateRequester'];
  readonly stream: boolean;
  readonly mcp: RunFacts['mcp'];
  readonly environment: RunFacts['environment'];
  readonly scaffold: RunFacts['scaffold'];
}

export interface RunSegmentOptions {
  readonly ctx: StepContext;
  readonly agents: ReadonlyMap<string, RunnableAgent>;
  readonly provider: ModelProvider;
  readonly turnsPerSegment: number;
  readonly gate: StepGate;
  readonly isDraining: () => boolean;
  readonly deltas: Deltas;
  /** Says that this process executes a segment, until it leaves. */
  readonly enter: (runId: string, segment: number) => { readonly leave: () => void };
  /** Watches a run while a segment of it works: the signal fires on cancellation and when its time is over. */
  readonly abortSignalFor: (
    runId: string,
    deadlineAtMs: number | null,
  ) => { readonly signal: AbortSignal; readonly release: () => void };
}

export const SEGMENT_WORKFLOW = 'holdfast.segment';

type Begin = Extract<SegmentStart, { type: 'begun' }>;

/** One segment of an agent run: from the start, a decision or a cut to the next pause, cut or end. */
export async function runSegment(options: RunSegmentOptions, runId: string, segment: number): Promise<void> {
  const present = options.enter(runId, segment);
  try {
    await abandonOnDatabaseOutage(() => execute(options, runId, segment));
  } finally {
    present.leave();
  }
}

async function execute(options: RunSegmentOptions, runId: string, segment: number): Promise<void> {
  const { ctx } = options;
  // Whoever ends this step goes on alone: who comes later finds its record and does not begin.
  const first: { loaded: LoadedSegment | null } = { loaded: null };
  const begin = async (): Promise<SegmentStart> => {
    const { begun, loaded } = await beginSegment(ctx, runId, segment);
    first.loaded = loaded;
    return begun;
  };
  const [begun, crashes] = await Promise.all([
    DBOS.runStep(() => abandonOnDatabaseOutage(begin), { name: 'segment:begin' }),
    withDatabaseRetry(() => crashesOf(ctx.knex, runId, segment)),
  ]);
  if (begun.type === 'stale') return;
  const { run, earlier, state: stored, rows } = first.loaded ?? (await reloadSegment(ctx, runId));
  // The run went on without this segment: everything that it did is committed.
  if (run === undefined || run.segment !== segment || isOver(run.status)) return;
  const abort = options.abortSignalFor(runId, begun.deadlineAtMs);
  try {
    const [changed, recorded, task] = await Promise.all([
      compareBegin(ctx, run, rows),
      orError(() => recordedOf(ctx, run)),
      orError(() => taskOfRun(ctx, run)),
    ]);
    if (changed !== null) return await failUnexecuted(ctx, run, changed);
    if (recorded instanceof HoldfastError) return await failUnexecuted(ctx, run, recorded);
    if (task instanceof HoldfastError) return await failUnexecuted(ctx, run, task);
    // Later executions go on with the counters that the first one recorded.
    const miscounted =
      first.loaded === null ? null : await compareCounts(ctx, run, recorded?.recordedAnswers ?? new Map());
    if (miscounted !== null) return await failUnexecuted(ctx, run, miscounted);
    const suspected = crashes.crashes >= SUSPECT_AFTER;
    // No step: how long it takes is nobody's business later.
    if (suspected) await sleep(suspectWaitsMs(crashes), undefined, { signal: abort.signal }).catch(() => undefined);
    const scope = openSegment(options, run, begun, task, {
      recorded,
      earlier,
      stored,
      suspected,
      signal: abort.signal,
    });
    const ending = await inSegment(scope, () => work(options, scope));
    await DBOS.runStep(
      () => abandonOnDatabaseOutage(async () => endSegment(ctx, await endOf(scope, segment, ending))),
      {
        name: 'segment:end',
      },
    );
  } finally {
    abort.release();
  }
}

/** Returns the error of ours that work throws in place of its result. */
async function orError<T>(work: () => Promise<T>): Promise<T | HoldfastError> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof HoldfastError && !isTransient(error)) return error;
    throw error;
  }
}

/** Fails a run before anything of its segment executes. What does it twice changes nothing. */
async function failUnexecuted(ctx: StepContext, run: RunRow, error: HoldfastError): Promise<void> {
  const { id: runId, tenant, segment, turns } = run;
  const nothing = { drafts: [], tail: null, verified: null, budgeted: false } as const;
  const ending = { type: 'failed', error: error.view() } as const;
  await abandonOnDatabaseOutage(() =>
    endSegment(ctx, { ...nothing, runId, tenant, segment, ending, parentKey: 'created', turns, usage: NO_USAGE }),
  );
}

/** What the work of an agent needs of a worker. */
export type Workplace = Pick<RunSegmentOptions, 'agents' | 'provider'>;

/** Lets the agent work, and verifies what it did when it has ended. Throws only for what is not the run's own. */
export const work = async (options: Workplace, scope: SegmentContext): Promise<Ending> =>
  verifyRun(scope, await workOfAgent(options, scope));

/** Lets the agent work until it has finished, must wait, or must stop. */
async function workOfAgent(options: Workplace, scope: SegmentContext): Promise<Ending> {
  try {
    const { agent } = agentOf(options, scope);
    if (scope.run.model !== null) scope.chosen = await options.provider.getModel(scope.run.model);
    const state = await stateOf(options, scope, agent);
    await prepareRun(scope);
    if (scope.stop !== null) return await endingOf(scope, state);
    const runner = new Runner({ modelProvider: scope.provider, tracingDisabled: true });
    const result = await runner.run(agent, state, { maxTurns: null });
    if (scope.broken !== null) throw scope.broken.error;
    waitForApprovals(scope, state);
    if (scope.stop !== null || scope.waits.length > 0) return await endingOf(scope, state);
    const produced = scope.run.sessionId === null ? null : restoreOutput(state, itemsOfInput(toJson(result.output)));
    return { type: 'completed', output: toJson(result.finalOutput), produced };
  } catch (error) {
    if (scope.broken !== null) throw scope.broken.error;
    return scope.stop !== null && scope.state !== null ? await endingOf(scope, scope.state) : outcomeFromError(error);
  }
}

function agentOf(options: Workplace, scope: SegmentContext): RunnableAgent {
  const runnable = options.agents.get(scope.run.agent);
  if (runnable !== undefined) return runnable;
  throw new HoldfastError(
    'agent_unknown',
    `The agent ${scope.run.agent} is not in the configuration of this worker any more.`,
  );
}

async function stateOf(options: Workplace, scope: SegmentContext, agent: Agent): Promise<RunState<unknown, Agent>> {
  if (scope.first === 0) {
    const input = scope.run.input as string | ConstructorParameters<typeof RunState>[1];
    scope.state = new RunState<unknown, Agent>(new RunContext<unknown>(), input, agent, null);
    return scope.state;
  }
  const snapshot = await storedState(scope, agent, (past) => work(options, past));
  return resumeState(scope, agent, snapshot);
}

async function endingOf(scope: SegmentContext, state: RunState<unknown, Agent>): Promise<Ending> {
  const { stop, waits } = scope;
  if (stop !== null && stop.type !== 'wait' && stop.type !== 'cut') return stop;
  // A long run has a long text: others have their turn before and after.
  await breathe();
  const text = stateText(state, scope.suspended);
  await breathe();
  return stop === null || stop.type === 'wait'
    ? { type: 'paused', waits, state: text, carried: carriedOf(scope) }
    : { type: 'cut', state: text };
}

/** What was decided and could not be applied, because something waits again: the next segment applies it. */
const carriedOf = (scope: SegmentContext): readonly string[] =>
  scope.settled.map((one) => one.interruptionId).filter((id) => !scope.applied.has(id));

async function endOf(scope: SegmentContext, segment: number, ended: Ending) {
  const divergence = scope.recorded?.divergence ?? null;
  const ending = divergence === null ? ended : outcomeFromError(divergence);
  const drafts = await scope.log.rest();
  return {
    ...{ runId: scope.run.id, tenant: scope.run.tenant, segment, ending, drafts, tail: scope.log.tail },
    ...{ parentKey: scope.log.last, turns: scope.turns, usage: scope.usage },
    verified: divergence === null ? scope.verified : null,
    budgeted: budgetsOf(scope).length > 0,
  };
}

export const runFacts = (options: Workplace, run: RunRow, task: RunTask | null = null): RunFacts => ({
  id: run.id,
  tenant: run.tenant,
  agent: run.agent,
  input: inputOf(run),
  sessionId: run.session_id,
  grants: parseGrants(grantsOf(run), { allowEverything: true }),
  limits: limitsOf(run),
  onDenied: options.agents.get(run.agent)?.onDenied ?? 'stop',
  onTruncated: options.agents.get(run.agent)?.onTruncated ?? 'fail',
  separateRequester: options.agents.get(run.agent)?.separateRequester ?? [],
  model: run.model,
  rebuilt: run.rebuilt_segment,
  mcp: options.agents.get(run.agent)?.mcp ?? {},
  scaffold: options.agents.get(run.agent)?.scaffold ?? null,
  environment: task?.environment ?? options.agents.get(run.agent)?.environment ?? null,
  task,
  taskType: taskTypeIn(metadataOf(run)),
});

function openSegment(
  options: RunSegmentOptions,
  run: RunRow,
  begun: Begin,
  task: RunTask | null,
  seen: Pick<SegmentContext, 'recorded' | 'earlier' | 'stored' | 'suspected' | 'signal'>,
): SegmentContext {
  const { ctx, gate, isDraining } = options;
  const { segment } = run;
  const { recorded } = seen;
  const first = recorded?.first ?? segment;
  const start = startOf(first, begun.settled);
  const log = new SegmentLog(
    segment,
    start.parentKey,
    logWriter(ctx, run.id, segment),
    (draft) => recorded?.accepts(draft) ?? true,
    recorded?.keys,
  );
  log.add('segment.started', start.data);
  return newSegmentContext({
    ...{
      ctx,
      agents: options.agents,
      run: runFacts(options, run, task),
      segment,
      first,
      execution: ctx.newId(),
      log,
      gate,
      isDraining,
      signalWithoutLimit: () => options.abortSignalFor(run.id, null),
      ...seen,
    },
    ...{ turnsPerSegment: options.turnsPerSegment, turns: begun.turns, totalTokens: begun.totalTokens },
    ...{ provider: durableProvider(options.provider), settled: begun.settled },
    standing: (begun.standing ?? []).map(standingOf),
    deltas: (run.stream ?? options.agents.get(run.agent)?.stream) === true ? options.deltas : null,
  });
}
