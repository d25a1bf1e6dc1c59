import { setTimeout as sleep } from 'node:timers/promises';
import { DBOS } from '@dbos-inc/dbos-sdk';
import { type KeptArtifacts, notKept } from '../src/core/artifacts/kept-artifacts.js';
import { HoldfastError } from '../src/core/errors/errors.js';
import { suspectWaitsMs } from '../src/core/queue/worker.js';
import type { Ending } from '../src/core/runs/ending.js';
import { isOver, NO_USAGE } from '../src/core/runs/run.js';
import { crashesOf } from '../src/storage/dbos/takeover.js';
import type { RunRow } from '../src/storage/runs/run-row.js';
import { openEarly } from '../steps/containers/open-environment.js';
import type { StepContext } from '../steps/context.js';
import { isTransient, withDatabaseRetry } from '../steps/database-retry.js';
import {
  beginSegment,
  compareBegin,
  compareCounts,
  type LoadedSegment,
  reloadSegment,
  type SegmentStart,
} from '../steps/segment/begin-segment.js';
import { endSegment } from '../steps/segment/end-segment.js';
import { taskOfRun } from '../steps/verification/task-of-run.js';
import { abandonOnDatabaseOutage } from './durable-step.js';
import { budgetsOf } from './model-turn/model-budgets.js';
import {
  type BegunSegment,
  isSuspected,
  type LoadedFacts,
  openSegment,
  type RunSegmentOptions,
} from './open-segment.js';
import { loggedStateOf, sourceOf } from './resume/rebuild-state.js';
import { outcomeFromError, runAgent } from './run-agent.js';
import { inSegment, type SegmentContext } from './segment-context.js';
import { keepFilesOf } from './verification/keep-left.js';

/**
 * Runs one segment of a run, from its start, a decision or a cut to the next pause, cut or end: begin, load, let the
 * agent work, verify, end.
 */
export async function runSegment(options: RunSegmentOptions, runId: string, number: number): Promise<void> {
  const present = options.enter(runId, number);
  try {
    await abandonOnDatabaseOutage(() => execute(options, runId, number));
  } finally {
    present.exit();
  }
}

async function execute(shared: RunSegmentOptions, runId: string, number: number): Promise<void> {
  const { ctx } = shared;
  const begun = await begin(ctx, runId, number);
  if (begun === null) return;
  if (begun.start.cancelled === true) return endCancelled(ctx, begun.run);
  const options = { ...shared, agents: await withDatabaseRetry(() => shared.agentsOf(begun.run)) };
  const abort = options.abortSignalFor(runId, begun.start.deadlineAtMs);
  try {
    const loaded = await (begun.facts ?? load(ctx, begun));
    if (loaded instanceof HoldfastError) return await failUnexecuted(ctx, begun.run, loaded);
    await giveWay(begun.crashes, abort.signal);
    const scope = openSegment(options, begun, loaded, abort.signal);
    const early = openContainer(begun, scope);
    const outcome = await inSegment(scope, () => runAgent(options, scope, early?.settle));
    await end(ctx, scope, outcome);
  } finally {
    abort.release();
  }
}

/** Opens the container early where that is asked for. No step: what is not open by then is opened by the first command. */
function openContainer(
  { isFirst }: BegunSegment,
  { ctx, run, signal }: SegmentContext,
): ReturnType<typeof openEarly> | null {
  const { environment, id: runId, tenant } = run;
  if (!isFirst || environment?.spec.openEarly !== true) return null;
  return openEarly(ctx, { runId, tenant, ...environment }, signal);
}

/** Begins the segment in a step. Null: the run went on without it, and everything that it did is committed. */
async function begin(ctx: StepContext, runId: string, number: number): Promise<BegunSegment | null> {
  // Only the execution that records this step gets the rows. A later one replays the record and reads them again.
  const first: { loaded: LoadedSegment | null; facts: BegunSegment['facts'] } = { loaded: null, facts: null };
  const work = async (): Promise<SegmentStart> => {
    const { begun, loaded } = await beginSegment(ctx, runId, number);
    first.loaded = loaded;
    const { run, rows } = loaded;
    // What does not change any more is read while the step is recorded.
    if (run !== undefined) first.facts = load(ctx, { run, rows, isFirst: true });
    // An execution that does not record the step asks for it no more.
    first.facts?.catch(() => undefined);
    return begun;
  };
  const [start, crashes] = await Promise.all([
    DBOS.runStep(() => abandonOnDatabaseOutage(work), { name: 'segment:begin' }),
    withDatabaseRetry(() => crashesOf(ctx.knex, runId, number)),
  ]);
  if (start.type === 'stale') return null;
  const { run, earlier, state, rows } = first.loaded ?? (await reloadSegment(ctx, runId));
  if (run === undefined || run.segment !== number || isOver(run.status)) return null;
  return { start, run, earlier, state, rows, crashes, isFirst: first.loaded !== null, facts: first.facts };
}

/** Reads the recording, the task and the log. Returns the error for which the run must fail before anything executes. */
async function load(
  ctx: StepContext,
  { run, rows, isFirst }: Pick<BegunSegment, 'run' | 'rows' | 'isFirst'>,
): Promise<LoadedFacts | HoldfastError> {
  const reading = orError(() => sourceOf(ctx, run));
  // Later executions use the counters that the first one recorded.
  const comparing = async () => {
    const source = await reading;
    return isFirst && !(source instanceof HoldfastError) ? compareCounts(ctx, run, source.recordedAnswers) : null;
  };
  const [changed, source, task, miscounted, logged] = await Promise.all([
    compareBegin(ctx, run, rows),
    reading,
    orError(() => taskOfRun(ctx, run)),
    comparing(),
    reading.then((source) => (source instanceof HoldfastError ? undefined : loggedStateOf(ctx, run, source))),
  ]);
  if (changed !== null) return changed;
  if (source instanceof HoldfastError) return source;
  if (task instanceof HoldfastError) return task;
  return miscounted ?? { source, task, logged };
}

/** Delays a segment with which workers died. This is no step: a replay need not know how long it took. */
async function giveWay(crashes: BegunSegment['crashes'], signal: AbortSignal): Promise<void> {
  if (isSuspected(crashes)) await sleep(suspectWaitsMs(crashes), undefined, { signal }).catch(() => undefined);
}

/** Ends the segment in a step: log, state, usage and what follows, in one transaction. */
async function end(ctx: StepContext, scope: SegmentContext, outcome: Ending): Promise<void> {
  const commit = async (): Promise<void> => {
    const divergence = scope.source.divergence;
    const drafts = await scope.log.rest();
    await endSegment(ctx, {
      runId: scope.run.id,
      tenant: scope.run.tenant,
      segment: scope.segment,
      ending: divergence === null ? outcome : outcomeFromError(divergence),
      drafts,
      tail: scope.log.tail,
      parentKey: scope.log.last,
      turns: scope.turns,
      usage: scope.usage,
      verified: divergence === null ? scope.verified : null,
      budgeted: budgetsOf(scope).length > 0,
    });
  };
  await recordEnd(commit);
}

/** Every end of a segment is this step of DBOS. */
const recordEnd = (commit: () => Promise<void>): Promise<void> =>
  DBOS.runStep(() => abandonOnDatabaseOutage(commit), { name: 'segment:end' });

/** Ends a run that was cancelled while it waited. Its container has what the task keeps; nothing else of the segment executes. */
async function endCancelled(ctx: StepContext, run: RunRow): Promise<void> {
  const keep = async (): Promise<KeptArtifacts | null> => {
    const task = await orError(() => taskOfRun(ctx, run));
    if (task instanceof HoldfastError) return notKept(task.message);
    if (task?.resolved.artifacts === undefined) return null;
    return keepFilesOf(ctx, { id: run.id, tenant: run.tenant, task });
  };
  const artifacts = await DBOS.runStep(() => abandonOnDatabaseOutage(keep), { name: 'run:keep' });
  const ending = { type: 'cancelled', ...(artifacts !== null && { artifacts }) } as const;
  await recordEnd(() => endUnexecuted(ctx, run, ending));
}

/** Fails a run before anything of its segment executes. Idempotent. */
const failUnexecuted = (ctx: StepContext, run: RunRow, error: HoldfastError): Promise<void> =>
  abandonOnDatabaseOutage(() => endUnexecuted(ctx, run, { type: 'failed', error: error.view() }));

async function endUnexecuted(ctx: StepContext, run: RunRow, ending: Ending): Promise<void> {
  const { id: runId, tenant, segment, turns } = run;
  const nothing = { drafts: [], tail: null, verified: null, budgeted: false, usage: NO_USAGE } as const;
  await endSegment(ctx, { ...nothing, runId, tenant, segment, ending, parentKey: 'created', turns });
}

/** Returns a permanent error of ours instead of throwing it. */
async function orError<T>(work: () => Promise<T>): Promise<T | HoldfastError> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof HoldfastError && !isTransient(error)) return error;
    throw error;
  }
}
