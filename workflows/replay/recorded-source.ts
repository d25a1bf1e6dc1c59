import type { StartedChild } from '../../src/core/agents/sub-agent.js';
import type { SpendCap } from '../../src/core/budgets/budget.js';
import { HoldfastError, isErrorCode } from '../../src/core/errors/errors.js';
import type { Standing } from '../../src/core/interruptions/standing.js';
import type { CallWait } from '../../src/core/interruptions/wait.js';
import { canonical, type JsonObject, type JsonValue } from '../../src/core/json.js';
import type { CallOutcome } from '../../src/core/log/call-outcome.js';
import type { EventData, EventDraft } from '../../src/core/log/event.js';
import { eventName, type RecordedSegment } from '../../src/core/log/recording.js';
import type { ContextNote } from '../../src/core/runs/run-context.js';
import type { McpChange } from '../../src/core/tools/mcp.js';
import { breathe } from '../../src/storage/database/timing.js';
import type { ModelResult } from '../../steps/calls/call-model.js';
import type { ToolResult } from '../../steps/calls/call-tool.js';
import type { RepeatableCall } from '../../steps/calls/execute-again.js';
import type { CallSource, Refused, SourceTurn, StepMode } from '../call-source.js';

/** Answers from what the log says of a segment. A closed recording is all there is; an open one goes on live where it ends. */
export class RecordedSource implements CallSource {
  readonly closed: boolean;
  readonly first: number;
  readonly keys: readonly string[];
  readonly snapshot: string | null;
  readonly spendCap: SpendCap | null = null;
  protected readonly segment: RecordedSegment;
  readonly #standing: readonly Standing[];
  readonly #checked = new Map<string, EventData<'call.checked'>>();
  protected readonly offeredAt = new Map<number, readonly string[]>();
  readonly #beforeTerms = new Set<number>();
  readonly #started = new Set<string>();
  protected readonly unmet: Set<string>;
  #divergence: string | null = null;

  constructor(
    segment: RecordedSegment,
    options: { readonly closed: boolean; readonly snapshot: string | null; readonly standing: readonly Standing[] },
  ) {
    this.#standing = options.standing;
    this.segment = segment;
    this.first = segment.first;
    this.keys = [...segment.events.keys()];
    this.unmet = new Set(this.keys);
    this.closed = options.closed;
    this.snapshot = options.snapshot;
    for (const { kind, data } of segment.events.values()) {
      if (kind === 'model.requested') this.offeredAt.set(data.turn, data.tools);
      if (kind === 'model.requested' && data.terms === undefined) this.#beforeTerms.add(data.turn);
      if (kind === 'call.checked') this.#checked.set(data.callId, data);
      if (kind === 'call.started') this.#started.add(data.callId);
    }
  }

  get recordedAnswers(): RecordedSegment['answers'] {
    return this.segment.answers;
  }

  get divergence(): HoldfastError | null {
    return this.#divergence === null ? null : new HoldfastError('replay_diverged', this.#divergence);
  }

  /** False from the first event on that differs. */
  accepts(draft: EventDraft): boolean {
    const recorded = this.segment.events.get(draft.key);
    this.unmet.delete(draft.key);
    if (recorded === undefined && this.closed) this.diverge(`it makes ${eventName(draft)} where the log has nothing`);
    if (recorded !== undefined) {
      const difference = differenceOf(recorded, draft);
      if (difference !== null) this.diverge(difference);
    }
    return this.#divergence === null;
  }

  /** Throws unless everything that the log says of the segment was met. */
  assertAllMet(): void {
    const [key] = this.unmet;
    const left = key === undefined ? undefined : this.segment.events.get(key);
    if (left !== undefined) this.diverge(`it does not come to ${eventName(left)}`);
    if (this.divergence !== null) throw this.divergence;
  }

  get isOver(): boolean {
    return this.unmet.size === 0;
  }

  stepMode(step: string, isCallback = false): StepMode {
    if (!this.closed) return 'durable';
    return (isCallback ? this.hears(step) : this.takes(step)) ? 'in_place' : 'beyond';
  }

  /** Nothing recorded ever waits. The caller that asked for the replay of a closed recording may be gone. */
  breathe(signal: AbortSignal): Promise<void> {
    return breathe(this.closed ? signal : undefined);
  }

  turn(turn: number): SourceTurn {
    if (this.#pausesAt(turn)) return { type: 'pause' };
    const answer = this.answer(turn);
    if (answer === null) return { type: 'ask' };
    return { type: 'recorded', model: answer.model, result: modelResultOf(answer) };
  }

  /** The recorded turn; null: the recording is over. Throws when the replay went another way. */
  protected answer(turn: number): RecordedAnswer | null {
    if (this.divergence !== null) throw this.divergence;
    const answer = this.segment.answers.get(turn) ?? this.segment.failures.get(turn) ?? null;
    if (answer === null && this.closed) throw this.diverge(`it asks the model for turn ${turn}, which the log has not`);
    return answer;
  }

  /** Whether the segment ended there, to wait until the model may be asked. */
  #pausesAt(turn: number): boolean {
    const { answers, failures, ending } = this.segment;
    return this.closed && ending === 'paused' && this.asked(turn) && !answers.has(turn) && !failures.has(turn);
  }

  result(callId: string): ToolResult | null {
    if (this.divergence !== null) throw this.divergence;
    const result = this.segment.calls.get(callId) ?? null;
    if (result === null && this.closed) throw this.diverge(`the call ${callId} has no end in the log`);
    return result?.type === 'waits' ? { type: 'waits', wait: waitOf(result.child) } : result;
  }

  hears(_callback: string): boolean {
    return true;
  }

  /** Whether a step is executed although the recording is closed. */
  protected takes(_step: string): boolean {
    return false;
  }

  decided(_callId: string): { readonly refused: Refused | null } | null {
    return null;
  }

  executes(_call: RepeatableCall): Promise<ToolResult | null> | null {
    return null;
  }

  handsOver(turn: number): boolean {
    return this.has(turn);
  }

  seqOf(_key: string): number | null {
    return null;
  }

  answered(_call: RepeatableCall, _result: ToolResult): void {
    // An execution that goes by the recording asks nothing more of it.
  }

  answeredBy(_turn: number, _again: () => readonly unknown[]): void {
    // Neither does it of a program.
  }

  get context(): ContextNote | null {
    return this.closed ? this.segment.context : null;
  }

  outcome(callId: string): CallOutcome | null {
    const call = this.segment.calls.get(callId);
    return call?.type === 'settled' ? call.outcome : null;
  }

  has(turn: number): boolean {
    return this.closed || this.segment.answers.has(turn);
  }

  asked(turn: number): boolean {
    return this.offeredAt.has(turn);
  }

  isBeforeTerms(turn: number): boolean {
    return this.#beforeTerms.has(turn);
  }

  offered(turn: number, tool: string): boolean | undefined {
    if (!this.has(turn)) return undefined;
    return this.offeredAt.get(turn)?.includes(tool) ?? true;
  }

  prepared(_present: EventData<'environment.prepared'> | null): EventData<'environment.prepared'> | null | undefined {
    for (const { kind, data } of this.segment.events.values()) if (kind === 'environment.prepared') return data;
    return this.closed || this.offeredAt.size > 0 ? null : undefined;
  }

  verified(): EventData<'task.verified'> | null | undefined {
    for (const { kind, data } of this.segment.events.values()) if (kind === 'task.verified') return data;
    return this.closed ? null : undefined;
  }

  toolList(server: string): { readonly listed: string | null; readonly changes: readonly McpChange[] } | undefined {
    if (!this.closed && this.isOver) return undefined;
    let listed: string | null = null;
    let changes: readonly McpChange[] = [];
    for (const { kind, data } of this.segment.events.values()) {
      if (kind === 'mcp.listed' && data.server === server) listed = data.digest;
      if (kind === 'mcp.changed' && data.server === server) changes = data.changes;
    }
    return { listed, changes };
  }

  modelAsked(_turn: number, recorded: string, _present: string): string {
    return recorded;
  }

  untold(turn: number, _what: string): null | undefined {
    return this.has(turn) ? null : undefined;
  }

  stoppedBefore(turn: number): boolean | undefined {
    return this.has(turn) ? false : undefined;
  }

  stoppedAtEnd(_inside: boolean): boolean | undefined {
    return undefined;
  }

  afterTools(turn: number, _agent: string, _callId: string | null): { readonly [key: string]: JsonValue } | undefined {
    return this.has(turn) ? { isFinalOutput: false } : undefined;
  }

  leftByFilter(_turn: number, _tools: readonly string[]): readonly string[] | undefined {
    return undefined;
  }

  get trip(): string | null {
    return null;
  }

  beyond(step: string): Error {
    return this.diverge(`it comes to the step ${step}, which the log has not`);
  }

  checked(callId: string): EventData<'call.checked'> | undefined {
    return this.#checked.get(callId);
  }

  /** In an open recording a call that was judged is to go on. */
  hasGoneOn(callId: string): boolean {
    if (this.#started.has(callId) || this.segment.calls.has(callId)) return true;
    return !this.closed && this.#checked.has(callId);
  }

  standing(callId: string): readonly Standing[] | undefined {
    const checked = this.checked(callId);
    return checked && this.#standing.filter(({ rule }) => rule.id === checked.standingDecision);
  }

  refusedByGuardrail(callId: string): string | null | undefined {
    const call = this.segment.calls.get(callId);
    const outcome = call?.type === 'settled' ? call.outcome : null;
    if (outcome?.type === 'refused' && outcome.why === 'guardrail') return outcome.message;
    return this.#started.has(callId) ? null : undefined;
  }

  protected diverge(how: string): HoldfastError {
    this.#divergence ??= `Segment ${this.segment.segment} does not replay: ${how}.`;
    return new HoldfastError('replay_diverged', this.#divergence);
  }
}

/** What a call waits for is in its interruption; of a state it is no part. The log names the run that it started. */
export const waitOf = (child: StartedChild | null): CallWait => ({
  ...{ ordinal: 1, dueAt: null, memo: child },
  spec: child === null ? { kind: 'timer', until: null, afterMs: 0 } : { kind: 'child_run', runId: child.childRunId },
});

export type RecordedAnswer = EventData<'model.responded'> | EventData<'model.failed'>;

/** A recorded turn as the step that asked the model gave it, but for what only accounts of providers need. */
function modelResultOf(recorded: RecordedAnswer): ModelResult {
  if ('error' in recorded) {
    const { code } = recorded.error;
    return { type: 'failed', error: { ...recorded.error, code: isErrorCode(code) ? code : 'run_failed' } };
  }
  const { responseId, output, usage, route, cost, finishReason } = recorded;
  const rest = { usage: { requests: 1, ...usage } };
  const terms = { ...(route && { route }), ...(cost && { cost }), ...(finishReason && { finishReason }) };
  return { type: 'answer', responseId, output, usage, rest, ...terms };
}

function differenceOf(recorded: EventDraft, draft: EventDraft): string | null {
  if (recorded.kind !== draft.kind) return `it makes ${eventName(draft)} where the log has ${eventName(recorded)}`;
  // What the model was asked may change: its answer is recorded.
  if (draft.kind === 'model.requested' || canonical(recorded.data) === canonical(draft.data)) return null;
  const was: JsonObject = { ...recorded.data } as JsonObject;
  const is: JsonObject = { ...draft.data } as JsonObject;
  const fields = Object.keys({ ...was, ...is }).filter(
    (field) => canonical(was[field] ?? null) !== canonical(is[field] ?? null),
  );
  return `${eventName(recorded)} has another ${fields.join(', ')}`;
}
