import { setMaxListeners } from 'node:events';
import type { Agent, ModelProvider } from '@openai/agents';
import type { HoldfastError } from '../src/core/errors/errors.js';
import { parseGrants } from '../src/core/grants/grants.js';
import { standingOf } from '../src/core/interruptions/standing.js';
import type { JsonObject } from '../src/core/json.js';
import type { Deltas } from '../src/core/log/delta.js';
import { SUSPECT_AFTER } from '../src/core/queue/worker.js';
import { taskTypeIn } from '../src/core/routing/route-need.js';
import { NO_USAGE } from '../src/core/runs/run.js';
import { LiveContext } from '../src/core/runs/run-context.js';
import type { RunTask } from '../src/core/tasks/resolve-task.js';
import { LiveState, type StateProblem } from '../src/core/tools/agent-state.js';
import { LiveMemory } from '../src/core/tools/tool-memory.js';
import { ProgramModel } from '../src/models/program-model.js';
import type { crashesOf } from '../src/storage/dbos/takeover.js';
import { grantsOf, inputOf, limitsOf, metadataOf, type RunRow } from '../src/storage/runs/run-row.js';
import type { StartableAgent } from '../steps/agents/start-child.js';
import type { StepContext } from '../steps/context.js';
import { type LoadedSegment, type SegmentStart, startOf } from '../steps/segment/begin-segment.js';
import { logWriter } from '../steps/segment/write-log.js';
import type { CallSource } from './call-source.js';
import { durable } from './durable-step.js';
import { durableProvider } from './model-turn/durable-model.js';
import { newLoop, type RunFacts, type RunProposals, type SegmentContext, type StepGate } from './segment-context.js';
import { SegmentLog } from './segment-log.js';

/** An agent as a worker runs it. */
export interface RunnableAgent extends StartableAgent {
  readonly agent: Agent;
  readonly onDenied: 'stop' | 'tell';
  readonly onTruncated: 'fail' | 'continue';
  readonly pureCallbacks: boolean;
  readonly separateRequester: RunFacts['separateRequester'];
  readonly stream: boolean;
  readonly plainTools: RunFacts['plainTools'];
  /** Null: it declares no context. */
  readonly context: object | null;
  readonly state: { readonly initial: JsonObject; readonly problemOf: StateProblem } | null;
  readonly memory: RunFacts['memory'];
  readonly mcp: RunFacts['mcp'];
  readonly environment: RunFacts['environment'];
  readonly scaffold: RunFacts['scaffold'];
  readonly proposals: RunProposals | null;
}

export interface RunSegmentOptions {
  readonly ctx: StepContext;
  readonly agents: ReadonlyMap<string, RunnableAgent>;
  /** The agents as a run was started with them. */
  readonly agentsOf: (run: RunRow) => Promise<ReadonlyMap<string, RunnableAgent>>;
  readonly provider: ModelProvider;
  readonly turnsPerSegment: number;
  readonly gate: StepGate;
  readonly isDraining: () => boolean;
  readonly deltas: Deltas;
  /** Says that this process executes a segment, until it leaves. */
  readonly enter: (runId: string, segment: number) => { readonly exit: () => void };
  /** Watches a run while a segment of it works: the signal fires on cancellation and when its time is over. */
  readonly abortSignalFor: (
    runId: string,
    deadlineAtMs: number | null,
  ) => { readonly signal: AbortSignal; readonly release: () => void };
}

/** The agents and models that a segment works with. */
export type Workplace = Pick<RunSegmentOptions, 'agents' | 'provider'>;

/** A segment that has begun, with the rows that it starts from. */
export interface BegunSegment extends Omit<LoadedSegment, 'run'> {
  readonly start: Extract<SegmentStart, { type: 'begun' }>;
  readonly run: RunRow;
  readonly crashes: Awaited<ReturnType<typeof crashesOf>>;
  /** Whether this execution recorded the beginning. */
  readonly isFirst: boolean;
  /** What is being read already; null: nothing. */
  readonly facts: Promise<LoadedFacts | HoldfastError> | null;
}

/** The recording that the segment executes from, and its task. */
export interface LoadedFacts {
  readonly source: CallSource;
  readonly task: RunTask | null;
  /** The digest of the state that the segment goes on from, as `keptStateOf` gives it. */
  readonly logged: string | null | undefined;
}

/** Whether so many workers died with the segment that it must have a process to itself. */
export const isSuspected = ({ crashes }: BegunSegment['crashes']): boolean => crashes >= SUSPECT_AFTER;

/** The facts of a run that stay the same while it executes. */
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
  pureCallbacks: options.agents.get(run.agent)?.pureCallbacks ?? false,
  separateRequester: options.agents.get(run.agent)?.separateRequester ?? [],
  model: run.model,
  rebuilt: run.rebuilt_segment,
  plainTools: options.agents.get(run.agent)?.plainTools ?? {},
  takesContext: (options.agents.get(run.agent)?.context ?? null) !== null,
  stateProblem: options.agents.get(run.agent)?.state?.problemOf ?? null,
  memory: memoryOf(options, run),
  mcp: options.agents.get(run.agent)?.mcp ?? {},
  isProgram: options.agents.get(run.agent)?.agent.model instanceof ProgramModel,
  undoes: undoesWhenOver(options.agents.get(run.agent), run),
  proposals: options.agents.get(run.agent)?.proposals ?? null,
  scaffold: options.agents.get(run.agent)?.scaffold ?? null,
  environment: task?.environment ?? options.agents.get(run.agent)?.environment ?? null,
  task,
  taskType: taskTypeIn(metadataOf(run)),
});

/**
 * Whether a run has a time from its start, and undoes what it did when that is over. A model that was chosen for it takes the place of its
 * plan.
 */
export function undoesWhenOver(runnable: Pick<RunnableAgent, 'agent'> | undefined, run: RunRow): boolean {
  const model = runnable?.agent.model;
  if (run.model !== null || !(model instanceof ProgramModel)) return false;
  // To say it, a plan may have to be read and compiled.
  return limitsOf(run).maxElapsedMs !== undefined && model.undoes(inputOf(run));
}

/** The spaces of a run. One whose grants ask for it is watched without any, too. */
function memoryOf({ agents }: Workplace, run: RunRow): RunFacts['memory'] {
  const declared = agents.get(run.agent)?.memory ?? null;
  const isWatched = grantsOf(run).some((grant) => grant['afterUntrusted'] !== undefined);
  return declared ?? (isWatched ? new Map() : null);
}

/** Opens the context of a segment and logs its start. */
export function openSegment(
  options: RunSegmentOptions,
  { start, run, earlier, state, crashes }: BegunSegment,
  { source, task, logged }: LoadedFacts,
  signal: AbortSignal,
): SegmentContext {
  const { ctx, agents, gate, isDraining, turnsPerSegment } = options;
  const { segment } = run;
  const first = source.first ?? segment;
  const { parentKey, data } = startOf(first, start.settled);
  const log = new SegmentLog(
    segment,
    parentKey,
    logWriter(ctx, run.id, segment),
    (draft) => source.accepts(draft),
    source.keys,
  );
  log.add('segment.started', data);
  const scope = newSegmentContext({
    ctx,
    agents,
    run: runFacts(options, run, task),
    segment,
    first,
    execution: ctx.newId(),
    log,
    gate,
    isDraining,
    signal,
    signalWithoutLimit: () => options.abortSignalFor(run.id, null),
    source,
    earlier,
    stored: state,
    loggedState: logged,
    suspected: isSuspected(crashes),
    turnsPerSegment,
    turns: start.turns,
    totalTokens: start.totalTokens,
    provider: durableProvider(options.provider),
    settled: start.settled,
    standing: (start.standing ?? []).map(standingOf),
    deltas: (run.stream ?? agents.get(run.agent)?.stream) === true ? options.deltas : null,
  });
  // The log has nothing that a crash can take back.
  log.writeAfter(() => durable(scope));
  return scope;
}

/** What the context of a segment is made with. */
type SegmentInput = Pick<
  SegmentContext,
  | ('ctx' | 'agents' | 'run' | 'segment' | 'first' | 'execution' | 'turnsPerSegment' | 'signal' | 'provider')
  | (
      | 'gate'
      | 'isDraining'
      | 'signalWithoutLimit'
      | 'suspected'
      | 'log'
      | 'source'
      | 'deltas'
      | 'turns'
      | 'totalTokens'
      | 'settled'
      | 'standing'
      | 'earlier'
      | 'stored'
      | 'loggedState'
    )
>;

/** Makes the context of a segment. */
export function newSegmentContext(seed: SegmentInput): SegmentContext {
  const siblings = new AbortController();
  const callSignal = AbortSignal.any([seed.signal, siblings.signal]);
  // Each call of a response listens to it, and a plan makes many at once.
  setMaxListeners(0, callSignal, seed.signal);
  return {
    ...{
      ...seed,
      ...newLoop(null),
      chosen: null,
      turnsInSegment: 0,
      stop: null,
      broken: null,
      verified: null,
      refers: true,
    },
    ...{ steps: null, goesAhead: new Set() },
    provenAt: Number.NEGATIVE_INFINITY,
    ...{
      usage: NO_USAGE,
      context: new LiveContext(seed.run.agent),
      own: new LiveState(seed.run.stateProblem),
      memory: new LiveMemory(),
      approvedPlan: null,
    },
    ...{ siblings, callSignal },
    ...{
      authorizedCalls: new Map(),
      results: new Map(),
      outcomes: new Map(),
      logged: new Map(),
      took: new Map(),
      waits: [],
      applied: new Set(),
    },
  };
}
