import type { HoldfastError } from '../errors/errors.js';
import type { Settlement } from '../interruptions/settlement.js';
import { allowedIn } from '../interruptions/standing.js';
import type { CallWait, PlacedWait } from '../interruptions/wait.js';
import { canonical, digestOf, type JsonValue } from '../json.js';
import type { CallOutcome } from '../log/call-outcome.js';
import { EVENT_DATA, type EventData, type EventDraft } from '../log/event.js';
import { type KeyedEvent, type RecordedCall, type RecordedSegment, segmentNumbers } from '../log/recording.js';
import { callIdsOf, type ForkEdit, refuseFork } from './fork-edits.js';

/** A call that was begun, as it was judged, and what the log says of it. */
export interface BegunCall {
  readonly call: EventData<'call.checked'>;
  /** Who asked for it. */
  readonly agent: string;
  /** Null: it has none in what is taken over. */
  readonly outcome: CallOutcome | null;
  /** How it ended later in the log of the source; null: that log does not say. */
  readonly later: LaterOutcome | null;
  /** What it came to wait for in the segment that the fork executes again; null: nothing. */
  readonly wait: BegunWait | null;
  /** Who allowed it; empty: no one had to. */
  readonly by: readonly string[];
}

/** Digests of what the row of a call may have as its outcome: of what the tool gave, and of what was put in its place. */
export type LaterOutcome = readonly string[];

export interface BegunWait {
  readonly interruptionId: string;
  readonly expiresInMs: number | null;
}

/**
 * The calls that were begun in what a fork takes over, by call id. `segment` is the one that it begins with, `log` the whole
 * log of the source: a call that is begun and not over has come to wait, or not, whenever that was. Those that were `about` to
 * begin, by what people allowed, are among them.
 */
export function begunCalls(
  events: readonly EventDraft[],
  segment: number,
  edits: readonly ForkEdit[],
  log: readonly KeyedEvent[],
  about: readonly string[] = [],
): ReadonlyMap<string, BegunCall> {
  const started = events.flatMap((one) => (one.kind === 'call.started' ? [one.data.callId] : []));
  const begun = new Set([...started, ...about]);
  const allowed = allowedIn(events);
  const agents = agentsIn(events);
  const waits = waitsOf(segment, log);
  const later = laterOf(log);
  const calls = new Map<string, BegunCall>();
  for (const { kind, data } of events) {
    if (kind !== 'call.checked' || !begun.has(data.callId)) continue;
    const { callId } = data;
    calls.set(callId, {
      ...{ call: data, agent: agents.get(callId) ?? '', outcome: null, wait: waits.get(callId) ?? null },
      ...{ by: allowed.get(callId) ?? [], later: later.get(callId) ?? null },
    });
  }
  for (const { callId, outcome } of [...finishedIn(events), ...edits.filter((edit) => 'callId' in edit)]) {
    const call = calls.get(callId);
    if (call !== undefined) calls.set(callId, { ...call, outcome, wait: null });
  }
  return calls;
}

const agentsIn = (events: readonly EventDraft[]): ReadonlyMap<unknown, string> =>
  new Map(
    events.flatMap((one) =>
      one.kind === 'model.responded' ? callIdsOf(one.data.output).map((callId) => [callId, one.data.agent]) : [],
    ),
  );

const finishedIn = (events: readonly EventDraft[]): readonly EventData<'call.finished'>[] =>
  events.flatMap((one) => (one.kind === 'call.finished' ? [one.data] : []));

function laterOf(log: readonly KeyedEvent[]): ReadonlyMap<string, LaterOutcome> {
  const later = new Map<string, LaterOutcome>();
  const created = log[0]?.kind === 'run.created' ? EVENT_DATA['run.created'].safeParse(log[0].data).data : undefined;
  // Logs of older builds do not say what the tool gave where a guardrail put another outcome in its place.
  if (created?.pinned === undefined) return later;
  for (const { kind, data } of log) {
    const finished = kind === 'call.finished' ? EVENT_DATA[kind].safeParse(data).data : undefined;
    if (finished === undefined) continue;
    const { callId, outcome, given } = finished;
    later.set(callId, [digestOf(outcome), ...(given === undefined ? [] : [given])]);
  }
  return later;
}

/** The waits that a segment ended with, by call id. */
function waitsOf(segment: number, log: readonly KeyedEvent[]): ReadonlyMap<string, BegunWait> {
  const waits = new Map<string, BegunWait>();
  const numberOf = segmentNumbers(log);
  const own = numberOf(`${segment}:0`);
  for (const { kind, parentKey, data } of log) {
    if (kind !== 'interruption.requested' || numberOf(parentKey ?? '') !== own) continue;
    const { id, callId, wait, expiresInMs } = EVENT_DATA[kind].safeParse(data).data ?? {};
    if (id === undefined || callId == null || wait === undefined) continue;
    waits.set(callId, { interruptionId: id, expiresInMs: expiresInMs ?? null });
  }
  return waits;
}

/** The end of a child run is told to its own parent alone: a fork can wait for one that has ended. */
export const waitsForChild = (callId: string, childRunId: string): HoldfastError =>
  refuseFork(
    '/at',
    `The call ${callId} waits there for its own run ${childRunId}, which is not over. Fork before the call began, or when that run has ended.`,
  );

/**
 * A wait of a call as it was asked for, out of what is known of the call by now. Null: it has waited again since, and what its
 * tool kept for the wait is gone.
 */
export function asAskedFor(
  known: { readonly waits: number; readonly waiting: CallWait | null; readonly resumed: Settlement | null },
  asked: PlacedWait & Pick<CallWait, 'dueAt' | 'expiresInMs'>,
): CallWait | null {
  const { waits, waiting, resumed } = known;
  if (waiting?.ordinal === asked.ordinal) return waiting;
  return resumed === null || waits !== asked.ordinal ? null : { ...asked, memo: resumed.memo };
}

/** A call of a log, as it was first asked for. */
export interface AskedBefore {
  readonly tool: string;
  readonly arguments: JsonValue;
  /** A person, or a standing decision, has said whether it may run. */
  readonly decided: boolean;
  /** What came of it; null: nothing that could stand for it. */
  readonly end: Extract<RecordedCall, { type: 'settled' | 'tripped' }> | null;
}

/** The calls of a log, each to be given once: to a call of the same tool with the same arguments, in their order. */
export class RecordedCalls {
  readonly #left: AskedBefore[];

  constructor(segments: readonly RecordedSegment[]) {
    this.#left = askedIn(segments);
  }

  /** Takes the first that is the same; null: there is none, or all were given. */
  take(tool: string, args: JsonValue): AskedBefore | null {
    const text = canonical(args);
    const index = this.#left.findIndex((one) => one.tool === tool && canonical(one.arguments) === text);
    return index === -1 ? null : (this.#left.splice(index, 1)[0] ?? null);
  }

  /** Arguments of the calls of a tool that were not given. */
  unused(tool: string): JsonValue[] {
    return this.#left.flatMap((one) => (one.tool === tool ? [one.arguments] : []));
  }
}

function askedIn(segments: readonly RecordedSegment[]): AskedBefore[] {
  const ends = new Map<string, AskedBefore['end']>();
  for (const { calls } of segments) for (const [callId, call] of calls) ends.set(callId, endOf(call));
  const asked = new Map<string, AskedBefore>();
  for (const { events } of segments) {
    for (const { kind, data } of events.values()) {
      if (kind !== 'call.checked') continue;
      const { callId, tool, decision, standingDecision } = data;
      const end = ends.get(callId) ?? null;
      const wasAsked = decision === 'ask' || standingDecision !== undefined;
      const before = asked.get(callId) ?? { tool, arguments: data.arguments, decided: false, end };
      // Judged again after a decision, which may have put other arguments in the place of the model's.
      asked.set(callId, { ...before, decided: before.decided || (wasAsked && end !== null) });
    }
  }
  return [...asked.values()];
}

/** Refusals by grants, schemas or the end of a run say nothing of what the tool would have done. */
const NO_RESULT: ReadonlySet<string> = new Set(['denied', 'invalid_arguments', 'cancelled']);

function endOf(call: RecordedCall): AskedBefore['end'] {
  if (call.type !== 'settled' && call.type !== 'tripped') return null;
  return call.outcome.type === 'refused' && NO_RESULT.has(call.outcome.why) ? null : call;
}
