import type { SpendCap } from '../src/core/budgets/budget.js';
import type { HoldfastError } from '../src/core/errors/errors.js';
import type { Standing } from '../src/core/interruptions/standing.js';
import type { JsonValue } from '../src/core/json.js';
import type { CallOutcome } from '../src/core/log/call-outcome.js';
import type { EventData, EventDraft } from '../src/core/log/event.js';
import type { RecordedSegment } from '../src/core/log/recording.js';
import type { ContextNote } from '../src/core/runs/run-context.js';
import type { McpChange } from '../src/core/tools/mcp.js';
import type { ModelResult } from '../steps/calls/call-model.js';
import type { ToolResult } from '../steps/calls/call-tool.js';
import type { RepeatableCall } from '../steps/calls/execute-again.js';

/** How a step is executed: kept by DBOS, executed and not kept, or not at all, since the log does not have it. */
export type StepMode = 'durable' | 'in_place' | 'beyond';

/** What the source has for a turn: nothing, so that the model is asked; what the named model gave; the end of its segment. */
export type SourceTurn =
  | { readonly type: 'ask' }
  | { readonly type: 'recorded'; readonly model: string; readonly result: ModelResult }
  | { readonly type: 'pause' };

export type Refused = Extract<CallOutcome, { type: 'refused' }>;

/**
 * Where a segment takes answers of models, results of calls, verdicts and answers of callbacks from. `LiveSource` has none: models,
 * tools and callbacks are asked. `RecordedSource` has what a log says of the segment.
 */
export interface CallSource {
  /** The number that the segment began with; null: its own. */
  readonly first: number | null;
  /** Keys of the events that the log has of the segment, in order. */
  readonly keys: readonly string[];
  /** The state that the segment starts from; null: the stored one, or the input of the run. */
  readonly snapshot: string | null;
  /** What pays for models in place of the run and its budgets; null: they do. */
  readonly spendCap: SpendCap | null;
  /** What the log has of the segment that models answered, by turn. */
  readonly recordedAnswers: RecordedSegment['answers'];
  /** How what was executed differs from the log; null: nowhere so far. */
  readonly divergence: HoldfastError | null;
  /** Whether nothing recorded is left. */
  readonly isOver: boolean;
  /** What a guardrail of a tool said that ended the run; null: none did, as far as the log says. */
  readonly trip: string | null;

  /** Compares an event with the log. False: it is not written. */
  accepts(draft: EventDraft): boolean;
  /** Says how a step, or a callback without an answer in the source, is executed. */
  stepMode(step: string, isCallback?: boolean): StepMode;
  /** Returns the error of a step that is `beyond`. */
  beyond(step: string): Error;
  /** Lets other work of the process have its turn. Throws the reason of the signal when it fires. */
  breathe(signal: AbortSignal): Promise<void>;
  /** Whether a callback that the log says nothing of is called: its step, or `hook`. */
  hears(callback: string): boolean;

  /** Throws `replay_diverged` when the replay went another way. */
  turn(turn: number): SourceTurn;
  /** Whether the model was asked at a turn. */
  asked(turn: number): boolean;
  /** Whether the log goes on with a turn: what was asked before it let the run go on. */
  has(turn: number): boolean;
  /** The model that the log names at a turn. `present`: the one that agents name now. */
  modelAsked(turn: number, recorded: string, present: string): string;
  /** Whether a build recorded the turn that did not log the terms of a request. */
  isBeforeTerms(turn: number): boolean;

  /** Returns the recorded end of a call; null: there is none. Throws `replay_diverged`. */
  result(callId: string): ToolResult | null;
  /** Executes a call in place of its step; null: the source does not. Resolves to null if nothing came of it. */
  executes(call: RepeatableCall): Promise<ToolResult | null> | null;
  /** The context of the run at the recorded end of the segment; null: the log has none. */
  readonly context: ContextNote | null;
  /** The number of an event, where the source knows the log by heart; null: the database does. */
  seqOf(key: string): number | null;
  /** Takes note of a call that got its recorded end. */
  answered(call: RepeatableCall, result: ToolResult): void;
  /** Takes note of a recorded turn of a program, which `again` asks again. */
  answeredBy(turn: number, again: () => readonly unknown[]): void;
  /** The recorded outcome of a call whose work is executed again; null: there is none. */
  outcome(callId: string): CallOutcome | null;
  /** The recorded verdict on a call; undefined: there is none. */
  checked(callId: string): EventData<'call.checked'> | undefined;
  /** Whether a call that was judged went on, or is to go on. */
  hasGoneOn(callId: string): boolean;
  /** The standing decisions that let a call go; undefined: the log does not have the call. */
  standing(callId: string): readonly Standing[] | undefined;
  /** What was decided of a call that must be approved: it may run, or why it was refused. Null: nothing was. */
  decided(callId: string): { readonly refused: Refused | null } | null;

  // What callbacks answered. Undefined: the log does not say, and the callback is called.

  /** Whether a tool was offered to the model at a turn. */
  offered(turn: number, tool: string): boolean | undefined;
  /** Whether a handoff happens without its callback. */
  handsOver(turn: number): boolean;
  /** Null where it does not matter what a model is told, since its answer is recorded. `what` was not called. */
  untold(turn: number, what: string): null | undefined;
  /** Whether an input guardrail stopped the run before a turn. */
  stoppedBefore(turn: number): boolean | undefined;
  /** Whether an output guardrail stopped the run or, `inside`, the agent behind a tool. */
  stoppedAtEnd(inside: boolean): boolean | undefined;
  /** What guardrails made of a call; null: they let it start. */
  refusedByGuardrail(callId: string): string | null | undefined;
  /** What `toolUseBehavior` made of results before a turn. `callId`: the call that the agent is behind. */
  afterTools(turn: number, agent: string, callId: string | null): { readonly [key: string]: JsonValue } | undefined;
  /** Which tools of an MCP server its filter left to an agent. */
  leftByFilter(turn: number, tools: readonly string[]): readonly string[] | undefined;

  /** The preparation of the environment; null: the log has none. Undefined: it is to be prepared. */
  prepared(present: EventData<'environment.prepared'> | null): EventData<'environment.prepared'> | null | undefined;
  /** The verification of the run; null: the log has none. Undefined: it is to be verified. */
  verified(): EventData<'task.verified'> | null | undefined;
  /** The tool list of an MCP server; undefined: the server is asked. */
  toolList(server: string): { readonly listed: string | null; readonly changes: readonly McpChange[] } | undefined;
}

const ASK: SourceTurn = { type: 'ask' };

/** Has no answers: models, tools, servers and callbacks are asked, in steps that DBOS keeps. */
class LiveSource implements CallSource {
  readonly first = null;
  readonly keys = [];
  readonly snapshot = null;
  readonly spendCap = null;
  readonly recordedAnswers = new Map();
  readonly divergence = null;
  readonly isOver = true;
  readonly trip = null;
  readonly context = null;

  accepts = (): boolean => true;
  stepMode = (): StepMode => 'durable';
  beyond = (step: string): Error => new Error(`a live segment executes the step ${step}`);
  breathe = async (): Promise<void> => undefined;
  hears = (): boolean => true;

  turn = (): SourceTurn => ASK;
  asked = (): boolean => false;
  has = (): boolean => false;
  modelAsked = (_turn: number, _recorded: string, present: string): string => present;
  isBeforeTerms = (): boolean => false;

  result = (): null => null;
  executes = (): null => null;
  seqOf = (): null => null;
  answered = (): void => undefined;
  answeredBy = (): void => undefined;
  outcome = (): null => null;
  checked = (): undefined => undefined;
  hasGoneOn = (): boolean => false;
  standing = (): undefined => undefined;
  decided = (): null => null;

  offered = (): undefined => undefined;
  handsOver = (): boolean => false;
  untold = (): undefined => undefined;
  stoppedBefore = (): undefined => undefined;
  stoppedAtEnd = (): undefined => undefined;
  refusedByGuardrail = (): undefined => undefined;
  afterTools = (): undefined => undefined;
  leftByFilter = (): undefined => undefined;

  prepared = (): undefined => undefined;
  verified = (): undefined => undefined;
  toolList = (): undefined => undefined;
}

/** It holds nothing, so that all live segments share it. */
export const LIVE: CallSource = new LiveSource();
