import { AsyncLocalStorage } from 'node:async_hooks';
import type { Agent, FunctionTool, Model, ModelProvider, RunContext, RunState } from '@openai/agents';
import type { Scaffold } from '../src/core/agents/scaffold.js';
import type { AgentEnvironment } from '../src/core/containers/environment.js';
import { HoldfastError } from '../src/core/errors/errors.js';
import type { GrantSet } from '../src/core/grants/grants.js';
import type { WaitDecision } from '../src/core/interruptions/settlement.js';
import type { AllowedElsewhere, Standing } from '../src/core/interruptions/standing.js';
import type { JsonValue } from '../src/core/json.js';
import type { CallOutcome, LoggedResult } from '../src/core/log/call-outcome.js';
import type { Deltas } from '../src/core/log/delta.js';
import type { EventData } from '../src/core/log/event.js';
import type { Given } from '../src/core/log/recording.js';
import type { CallOfPlan } from '../src/core/plans/approved-plan.js';
import type { Ending, Wait } from '../src/core/runs/ending.js';
import type { ApprovedPlan, RunLimits, Usage } from '../src/core/runs/run.js';
import type { LiveContext } from '../src/core/runs/run-context.js';
import type { RunTask } from '../src/core/tasks/resolve-task.js';
import type { LiveState, StateProblem } from '../src/core/tools/agent-state.js';
import type { McpRules } from '../src/core/tools/mcp.js';
import type { MemorySpace } from '../src/core/tools/memory-space.js';
import type { PlainTools, ToolSpec } from '../src/core/tools/tool.js';
import type { LiveMemory, TrustLabel } from '../src/core/tools/tool-memory.js';
import type { StepsAhead } from '../src/storage/dbos/steps-ahead.js';
import type { KeptOutcome } from '../src/storage/runs/calls.js';
import type { DeclaredTool } from '../src/tools/define/define-tool.js';
import type { StartableAgent } from '../steps/agents/start-child.js';
import type { HaltReason } from '../steps/calls/call-model.js';
import type { ToolResult } from '../steps/calls/call-tool.js';
import type { EarlierCalls } from '../steps/calls/earlier-calls.js';
import type { StepContext } from '../steps/context.js';
import type { SettledInterruption } from '../steps/segment/begin-segment.js';
import type { CallSource } from './call-source.js';
import type { SuspendedAgent } from './resume/state-text.js';
import type { SegmentLog } from './segment-log.js';

/** What never changes while a run goes on. */
export interface RunFacts {
  readonly id: string;
  readonly tenant: string;
  readonly agent: string;
  readonly input: JsonValue;
  readonly sessionId: string | null;
  readonly grants: GrantSet;
  readonly limits: RunLimits;
  readonly onDenied: 'stop' | 'tell';
  /** What becomes of the run when an answer was cut at its limit of tokens. */
  readonly onTruncated: 'fail' | 'continue';
  /** Whether input and output fail in its callbacks. */
  readonly pureCallbacks: boolean;
  /** What its agent and the engine say of whether who asked for it may approve its calls. */
  readonly separateRequester: readonly (boolean | undefined)[];
  /** The model that is asked in place of those of the agents; null: theirs. */
  readonly model: string | null;
  /** The last segment that was made again from the log; null: none was. */
  readonly rebuilt: number | null;
  /** What the agent says of tools that declare nothing. */
  readonly plainTools: PlainTools;
  /** Whether its agent declares a context. */
  readonly takesContext: boolean;
  /** Says what does not fit the state that its agent declares; null: it declares none. */
  readonly stateProblem: StateProblem | null;
  /** The memory that its agent declares; null: what it reads and writes is not noted. */
  readonly memory: ReadonlyMap<string, MemorySpace> | null;
  /** What the run was given, where its log was read. */
  readonly given?: Given;
  /** The plans that its runs bring with them; null: they bring none. */
  readonly proposals: RunProposals | null;
  /** Whether a plan or a state machine is in the place of its model, which reads how a call ended and decides what comes of a failure. */
  readonly isProgram: boolean;
  /** Whether it undoes what it did when its time from its start is over, instead of being cancelled. */
  readonly undoes: boolean;
  /** What the agent says of MCP servers, by the name of the server in capabilities. */
  readonly mcp: { readonly [server: string]: McpRules };
  /** Where commands of its calls execute; null: nowhere. */
  readonly environment: AgentEnvironment | null;
  /** What stands between its agent and its model; null: nothing of its own. */
  readonly scaffold: RunScaffold | null;
  /** The task that it executes; null: none. */
  readonly task: RunTask | null;
  /** What kind of task it is (`taskType` of its metadata), for routers that choose by it; null: it does not say. */
  readonly taskType: string | null;
}

/** What an approval of a plan covers. */
export interface RunProposals {
  /** Whether a call of a run with this input is one that was approved with its plan. */
  approves(input: JsonValue, call: CallOfPlan): boolean;
}

/** Where the steps of a process begin. */
export interface StepGate {
  /** Waits for its turn, and for the process to be the run's own if it must be `alone`; resolves to the way out. */
  readonly enter: (runId: string, alone: boolean, signal: AbortSignal) => Promise<() => void>;
}

/** A function tool as the SDK gets it inside a segment: its body runs only through the guard. */
export interface WrappedTool {
  readonly tool: FunctionTool;
  readonly original: FunctionTool;
  readonly spec: ToolSpec;
  readonly context: RunContext<unknown>;
}

/** One call of a response, as it was judged before any call of that response starts. */
export interface AuthorizedCall {
  readonly callId: string;
  readonly agent: string;
  readonly wrapped: WrappedTool;
  readonly arguments: JsonValue;
  readonly argumentsText: string;
  readonly input: unknown;
  readonly digest: string;
  readonly decision: 'allow' | 'ask' | 'deny' | 'invalid';
  /** Why a person must approve, or what the model is told. */
  readonly text: string;
  readonly reason: 'tool_rule' | 'grant_ask';
  readonly checkedEventKey: string;
  /** Why the body never runs, and what the model reads instead. */
  readonly refusal: { readonly why: Extract<CallOutcome, { type: 'refused' }>['why']; readonly message: string } | null;
  /** What a person said of a call that may have happened: its outcome, without running it. */
  readonly known: CallOutcome | null;
  /** What the call needs, normalised. */
  readonly capabilities: readonly string[];
  /** A person approved this call, by a decision bound to its digest. */
  readonly approved: boolean;
  /** The standing decision that spares it an approval of its own. */
  readonly standing: Standing | null;
  /** The interruption whose approval lets a call of unknown effect run again. */
  readonly repeatApprovedBy: string | null;
  /** Who allowed it, or answered what it waited for, in a run that this one was forked from; null: no one. */
  readonly allowedElsewhere: AllowedElsewhere | null;
  /** The decision on what this call waited for. */
  readonly waitDecision: WaitDecision | null;
  /** For an agent as a tool: the state that it was suspended in. */
  readonly agentState: string | null;
}

/** A call that was started, or refused without starting. Its end is logged when those before it have ended. */
export interface StartedCall {
  readonly authorized: AuthorizedCall;
  readonly startedKey: string;
  result: ToolResult | AgentToolResult | null;
}

/** Why a segment stops before the agent has finished. */
type Stop =
  | Exclude<Ending, { type: 'completed' | 'paused' | 'cut' }>
  | { readonly type: 'wait' }
  | { readonly type: 'cut' };

/** What belongs to one agent loop: that of the run, or that of an agent behind a tool. */
interface AgentLoop {
  /** What the SDK works on; null until it is there. */
  state: RunState<unknown, Agent> | null;
  /** Whether the SDK was asked to run the agent. */
  running: boolean;
  /** Calls of the present response that may start, in the model's order. */
  batch: AuthorizedCall[];
  started: StartedCall[];
  /** Resolves when every call of the present response that was started has ended. */
  ended: Promise<unknown>;
  /** How many items the model was shown in the turn before. */
  seenItems: number;
  /** Agents behind tools of this loop that are in the middle of their work. */
  suspended: SuspendedAgent[];
  /** The call that this loop is the inside of, and the state that it goes on from; null: the loop of the run itself. */
  parentCall: { readonly callId: string; readonly text: string | null } | null;
}

/** The state of one execution of a segment. A replay goes through the same values in the same order. */
export interface SegmentContext extends AgentLoop {
  readonly ctx: StepContext;
  readonly run: RunFacts;
  /** The agents that a call may start a run of, by name. */
  readonly agents: ReadonlyMap<string, StartableAgent>;
  readonly segment: number;
  /** The number that the segment began with, before it was rebuilt. */
  readonly first: number;
  /** Differs in every execution of the segment: by it a call knows whether its intent is its own. */
  readonly execution: string;
  readonly turnsPerSegment: number;
  /** Whether this process takes its leave, so that the segment should end soon. */
  readonly isDraining: () => boolean;
  readonly gate: StepGate;
  /** Watches the run without its limit of time, which is the agent's. */
  readonly signalWithoutLimit: () => { readonly signal: AbortSignal; readonly release: () => void };
  readonly signal: AbortSignal;
  /** Stops the calls that work when one has failed whose failure ends the run. */
  readonly siblings: AbortController;
  /** What stops a call: the end of the run, or the failure of one beside it. */
  readonly callSignal: AbortSignal;
  readonly log: SegmentLog;
  /** The calls of the run that may have left something before this execution. */
  readonly earlier: EarlierCalls;
  /** The stored state that the segment starts from, where it was read already. */
  readonly stored: string | null;
  /** The digest of that state, as the log has it: null in logs of older builds; undefined: the log has none. */
  readonly loggedState: string | null | undefined;
  /** The models of the run, each call a step. */
  readonly provider: ModelProvider;
  /** Where answers of models, results of calls and verdicts come from. */
  readonly source: CallSource;
  /** The model of `run.model`, once it is looked up. */
  chosen: Model | null;
  /** Decisions that hold for every call that they cover, as they were when the segment began. */
  readonly standing: readonly Standing[];
  /** Where models that answer in pieces put them; null: they answer whole. */
  readonly deltas: Deltas | null;
  readonly authorizedCalls: Map<string, AuthorizedCall>;
  readonly results: Map<string, Promise<ToolResult | AgentToolResult>>;
  /** Outcomes of calls that are to be kept together with their step, by its name. */
  readonly outcomes: Map<string, KeptOutcome>;
  /** Long results that the log has, by call: what is stored of the state of the run refers to them. */
  logged: Map<string, LoggedResult>;
  /** Whether the state that the segment ends with refers to the log; in a replay, which only passes it on, it is whole. */
  refers: boolean;
  /** Milliseconds that this process executed a step, by its name; a recorded result took none. */
  readonly took: Map<string, number>;
  readonly waits: Wait[];
  /** What was decided before the segment began. */
  readonly settled: readonly SettledInterruption[];
  /** What code of the run gets as `RunContext.context`. */
  readonly context: LiveContext;
  /** The state of the run, which its tools read and change. */
  readonly own: LiveState;
  /** What the run had to do with memory so far. */
  readonly memory: LiveMemory;
  /** The plan of the run that people approved before it began; null: none was. */
  approvedPlan: ApprovedPlan | null;
  /** The interruptions of those that were applied; the next segment must apply the others. */
  readonly applied: Set<string>;
  /** The steps of this execution on their way to the database; null: it has recorded none. */
  steps: StepsAhead | null;
  /** The names of steps that the execution goes on from while they are recorded. */
  readonly goesAhead: Set<string>;
  /** When the last step was sent that this execution recorded as the owner of the run, by the clock of the lease. */
  provenAt: number;
  turns: number;
  turnsInSegment: number;
  totalTokens: number;
  usage: Usage;
  stop: Stop | null;
  /** What the verification of the run found; null: there was none so far. */
  verified: EventData<'task.verified'> | null;
  /** Whether workers died with this segment, and it has not recorded a step since. */
  suspected: boolean;
  /** A failure of the database or of DBOS: never the run's own, so that it must not end the run. */
  broken: { readonly error: unknown } | null;
}

/** Returns the loop of an agent that has not begun. */
export const newLoop = (parentCall: AgentLoop['parentCall']): AgentLoop => ({
  ...{ state: null, running: false, batch: [], started: [], ended: Promise.resolve() },
  ...{ seenItems: 0, suspended: [], parentCall },
});

/** Works in a loop of its own: that of an agent behind a tool. Nothing of the outer loop is at work meanwhile. */
export async function withNestedLoop<T>(
  scope: SegmentContext,
  parentCall: NonNullable<AgentLoop['parentCall']>,
  work: () => Promise<T>,
): Promise<T> {
  const { state, running, batch, started, ended, seenItems, suspended, parentCall: outer } = scope;
  Object.assign(scope, newLoop(parentCall));
  try {
    return await work();
  } finally {
    Object.assign(scope, { state, running, batch, started, ended, seenItems, suspended, parentCall: outer });
  }
}

/** Inside a segment, or inside a step of one; null: of none. */
type Place = { readonly segment: SegmentContext } | { readonly stepOf: SegmentContext | null };

const storage = new AsyncLocalStorage<Place>();

/** Runs the agent's side of a segment; the patches of models and tools are active inside. */
export const inSegment = <T>(scope: SegmentContext, work: () => Promise<T>): Promise<T> =>
  storage.run({ segment: scope }, work);

/** Runs the body of a step: what it calls is its own affair and takes no steps. */
export const inStep = <T>(work: () => T): T => storage.run({ stepOf: surroundingSegment() }, work);

export function currentSegment(): SegmentContext | 'step' | undefined {
  const place = storage.getStore();
  return place !== undefined && 'stepOf' in place ? 'step' : place?.segment;
}

/** The segment that this is in, or a step of; null: neither. */
export function surroundingSegment(): SegmentContext | null {
  const place = storage.getStore();
  if (place === undefined) return null;
  return 'stepOf' in place ? place.stepOf : place.segment;
}

/** Thrown through the SDK to end a segment where no further model call may happen. */
export class SegmentStop extends Error {
  readonly stop: Stop;

  constructor(stop: Stop) {
    super(`the segment stops: ${stop.type}`);
    this.name = 'SegmentStop';
    this.stop = stop;
  }
}

/** How a segment stops whose work was halted from outside. */
export const stopFromHalt = (why: HaltReason): Extract<Stop, { type: 'cancelled' | 'failed' }> =>
  why === 'cancelled' ? { type: 'cancelled' } : { type: 'failed', error: HALTS[why]().view() };

const HALTS = {
  limit_wall_time: () =>
    new HoldfastError('limit_wall_time', 'The run worked longer than its limit of time (maxDurationMs) allows.'),
  stalled: () =>
    new HoldfastError('run_stalled', 'No step of the run began or ended for longer than `stalls.afterMs` allows.'),
} satisfies { readonly [R in Exclude<HaltReason, 'cancelled'>]: () => HoldfastError };

/** The scaffold of an agent: it belongs to the loop of the runs of that agent, and to no other. */
export interface RunScaffold {
  readonly agent: Agent;
  readonly scaffold: Scaffold;
  readonly tools: readonly DeclaredTool[];
}

/** How the agent behind a tool left its caller: with a result, or in the middle of its work. */
export type AgentToolResult =
  | Extract<ToolResult, { type: 'settled' }>
  | { readonly type: 'suspended'; readonly state: string | null };

/** Labels of what a run passes on. What one without labels has read before its first segment here is not known. */
export const labelsPassedOn = ({ run, memory, first }: SegmentContext): readonly TrustLabel[] =>
  run.memory === null && first > 0 ? [...new Set<TrustLabel>([...memory.labels, 'untrusted:agent'])] : memory.labels;
