import type { StartedChild } from '../../src/core/agents/sub-agent.js';
import type { Standing } from '../../src/core/interruptions/standing.js';
import { type JsonObject, type JsonValue, objectsIn, sameJson, toJson } from '../../src/core/json.js';
import { fieldDifferences } from '../../src/core/log/compare-events.js';
import type { EventData, EventDraft } from '../../src/core/log/event.js';
import { eventName, type RecordedSegment } from '../../src/core/log/recording.js';
import type { ToolResult } from '../../steps/calls/call-tool.js';
import type { RepeatableCall } from '../../steps/calls/execute-again.js';
import { type RecordedAnswer, RecordedSource, waitOf } from './recorded-source.js';
import type { ReplayFindings, RunEnd } from './replay-findings.js';

/** Thrown through the SDK where the log does not go on: what would come now, no one has recorded. */
export class LogEnds extends Error {
  constructor(step: string) {
    super(`the log ends before ${step}`);
    this.name = 'LogEnds';
  }
}

export interface ReplayedPart {
  readonly snapshot: string | null;
  readonly standing: readonly Standing[];
  /** Null: the log has not ended, or this is not the run's last segment. */
  readonly end: RunEnd | null;
  /** Numbers of events, by key. */
  readonly seqOf: ReadonlyMap<string, number>;
  /** Events up to this one were recorded under models that the run was given no say of. */
  readonly copiedUpTo: number;
}

/**
 * A closed recording that an agent of today is checked against: it answers whatever was asked then, hears no callback, and notes what
 * differs instead of failing the run.
 */
export class ReplaySource extends RecordedSource {
  readonly #part: ReplayedPart;
  readonly #findings: ReplayFindings;
  /** The turns where it is unknown what the model was told. */
  readonly #untold = new Set<number>();
  readonly #requests = new Map<number, Extract<EventDraft, { kind: 'model.requested' }>>();
  readonly #finished = new Map<string, EventDraft>();
  /** Calls that wait, and the runs that they have started. */
  readonly #waiting: ReadonlyMap<string, StartedChild | null>;
  #astray = false;
  #surplus: EventDraft | null = null;
  #step: string | null = null;

  constructor(segment: RecordedSegment, part: ReplayedPart, findings: ReplayFindings) {
    super(segment, { closed: true, snapshot: part.snapshot, standing: part.standing });
    this.#part = part;
    this.#findings = findings;
    this.#waiting = waitingIn(segment, part.end !== null);
    for (const event of segment.events.values()) {
      if (event.kind === 'model.requested') this.#requests.set(event.data.turn, event);
      if (event.kind === 'call.finished') this.#finished.set(event.data.callId, event);
    }
  }

  /** Whether the replay has left the log for good. */
  get isAstray(): boolean {
    return this.#astray;
  }

  /** What was come to where the log has nothing any more: an event or a step. */
  get cameTo(): string | null {
    return this.#surplus === null ? this.#step : eventName(this.#surplus);
  }

  /** The events of the log that were not come to. */
  unmetEvents(): readonly EventDraft[] {
    return [...this.unmet].flatMap((key) => this.segment.events.get(key) ?? []);
  }

  override hears(): boolean {
    return false;
  }

  override accepts(draft: EventDraft): boolean {
    if (this.#astray || this.#surplus !== null) return false;
    const recorded = this.segment.events.get(draft.key);
    if (recorded === undefined) {
      this.#surplus = draft;
      return false;
    }
    const seq = this.#part.seqOf.get(draft.key) ?? null;
    const place = { seq, key: draft.key, what: eventName(recorded) };
    // From another kind, call or turn on, the events are not those of the log any more.
    if (recorded.kind !== draft.kind || identityOf(recorded) !== identityOf(draft)) {
      this.#astray = true;
      this.#findings.addEnd({ ...place, field: '', expected: eventName(recorded), actual: eventName(draft) });
      return false;
    }
    this.unmet.delete(draft.key);
    this.#findings.met(seq ?? 0);
    for (const difference of fieldDifferences(recorded, draft, this.#ignoredIn(draft)))
      this.#findings.add({ ...place, ...difference });
    return true;
  }

  protected override answer(turn: number): RecordedAnswer | null {
    if (this.#astray) throw this.beyond(`model:${turn}`);
    return this.segment.answers.get(turn) ?? this.segment.failures.get(turn) ?? null;
  }

  override result(callId: string): ReturnType<RecordedSource['result']> {
    if (this.#astray) return null;
    const child = this.#waiting.get(callId);
    if (child !== undefined) return { type: 'waits', wait: waitOf(child) };
    return this.segment.calls.has(callId) ? super.result(callId) : null;
  }

  override seqOf(key: string): number | null {
    return this.#part.seqOf.get(key) ?? null;
  }

  /** What is declared to give the same again can be asked to, unless it goes on from a wait. */
  override answered(call: RepeatableCall, result: ToolResult): void {
    const { spec, callId } = call;
    const isRepeatable = spec.deterministic && spec.effect === 'pure' && spec.resume === null;
    const finished = this.#finished.get(callId);
    if (!isRepeatable || finished === undefined || result.type !== 'settled' || result.outcome.type === 'refused')
      return;
    const seq = this.#part.seqOf.get(finished.key) ?? 0;
    this.#findings.repeatable.push({ call, outcome: result.outcome, key: finished.key, seq });
  }

  override answeredBy(turn: number, again: () => readonly unknown[]): void {
    const answer = this.segment.answers.get(turn);
    const request = this.#requests.get(turn);
    // What an operator wrote in place of the program is no answer of it.
    if (answer === undefined || request === undefined || this.#isCopied(turn)) return;
    const expected = answer.output.map(withoutCallId);
    const actual = saidAgain(again);
    if (sameJson(expected, actual)) return;
    const key =
      [...this.segment.events].find(([, { kind, data }]) => kind === 'model.responded' && data.turn === turn)?.[0] ??
      request.key;
    const place = { seq: this.#part.seqOf.get(key) ?? null, key, what: `model.responded of turn ${turn}` };
    this.#findings.add({ ...place, field: '/output', expected, actual });
  }

  override modelAsked(turn: number, recorded: string, present: string): string {
    return this.#isCopied(turn) ? recorded : present;
  }

  override prepared(present: EventData<'environment.prepared'> | null): EventData<'environment.prepared'> | null {
    const recorded = super.prepared(present) ?? null;
    return recorded && { ...recorded, ...(present ?? { scaffold: null }) };
  }

  override untold(turn: number, what: string): null {
    this.#findings.leaveOut(what);
    this.#untold.add(turn);
    return null;
  }

  override stoppedBefore(turn: number): boolean {
    return !this.asked(turn) && this.trip !== null;
  }

  override stoppedAtEnd(inside: boolean): boolean {
    return !inside && this.trip !== null;
  }

  override afterTools(turn: number, agent: string, callId: string | null): { readonly [key: string]: JsonValue } {
    if (callId === null) {
      const { end } = this.#part;
      if (this.asked(turn) || end?.kind !== 'run.completed') return { isFinalOutput: false };
      return { isFinalOutput: true, finalOutput: end.data.output };
    }
    const outcome = this.outcome(callId);
    const goesOn = this.#requests.get(turn)?.data.agent === agent;
    if (goesOn || outcome?.type !== 'output') return { isFinalOutput: false };
    return { isFinalOutput: true, finalOutput: outcome.text ?? outcome.output };
  }

  override leftByFilter(turn: number, tools: readonly string[]): readonly string[] {
    const offered = this.offeredAt.get(turn);
    if (offered === undefined) return tools;
    return tools.filter((tool) => offered.some((name) => name === tool || name.endsWith(`_${tool}`)));
  }

  override refusedByGuardrail(callId: string): string | null | undefined {
    return super.refusedByGuardrail(callId) ?? (this.trip === null ? null : undefined);
  }

  override get trip(): string | null {
    const { end } = this.#part;
    return end?.kind === 'run.failed' && end.data.error.code === 'guardrail_tripped' ? end.data.error.message : null;
  }

  override beyond(step: string): Error {
    this.#step ??= step;
    return new LogEnds(step);
  }

  #isCopied(turn: number): boolean {
    const request = this.#requests.get(turn);
    return request !== undefined && (this.#part.seqOf.get(request.key) ?? 0) <= this.#part.copiedUpTo;
  }

  #ignoredIn(draft: EventDraft): ReadonlySet<string> {
    return draft.kind === 'model.requested' && this.#untold.has(draft.data.turn) ? UNTOLD : NOTHING;
  }
}

/**
 * Calls that were begun and have no end, and surely wait: ends are logged in the order of the calls, so that one
 * before another that has ended, or of a run that is over, is at work no more.
 */
function waitingIn({ events, calls }: RecordedSegment, isOver: boolean): ReadonlyMap<string, StartedChild | null> {
  const started: string[] = [];
  const children = new Map<string, StartedChild>();
  for (const { kind, data } of events.values()) {
    if (kind === 'call.started') started.push(data.callId);
    if (kind !== 'child.started') continue;
    const { callId, ...child } = data;
    children.set(callId, child);
  }
  const waiting = new Map<string, StartedChild | null>();
  let isPassed = isOver;
  for (const callId of started.reverse()) {
    if (!calls.has(callId) && (isPassed || children.has(callId))) waiting.set(callId, children.get(callId) ?? null);
    isPassed ||= calls.has(callId) || children.has(callId);
  }
  return waiting;
}

/** Ids of calls are the run's. */
const withoutCallId = ({ callId: _, ...item }: JsonObject): JsonObject => item;

/** What a program says now, in the form of the log; what it fails with, where it does. */
function saidAgain(again: () => readonly unknown[]): JsonValue {
  try {
    return objectsIn(toJson(again())).map(withoutCallId);
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

const UNTOLD: ReadonlySet<string> = new Set(['/inputDigest', '/terms/prompt']);
const NOTHING: ReadonlySet<string> = new Set();

const identityOf = ({ data }: EventDraft): string => {
  const { callId, turn } = data as { readonly callId?: unknown; readonly turn?: unknown };
  return JSON.stringify([callId ?? null, turn ?? null]);
};
