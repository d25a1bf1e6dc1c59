import { HoldfastError } from './errors.js';
import { type CallOutcome, EVENT_DATA, type EventData, type EventDraft, type EventKind } from './event.js';
import type { JsonValue } from './json.js';
import type { StartedChild } from './sub-agent.js';

/** An event of a log with its natural keys: what a segment can be executed again from. */
export interface KeyedEvent {
  readonly seq: number;
  readonly key: string;
  readonly parentKey: string | null;
  readonly kind: string;
  /** Null when the payload was erased. */
  readonly data: JsonValue;
}

/** How a call of a segment ended, as the log says. */
export type RecordedCall =
  | { readonly type: 'settled'; readonly outcome: CallOutcome }
  /** A guardrail of its tool ended the run. */
  | { readonly type: 'tripped'; readonly outcome: Extract<CallOutcome, { type: 'error' }> }
  | { readonly type: 'unknown'; readonly text: string }
  /** It was begun, and its segment ended to wait for what it asked for. */
  | { readonly type: 'waits'; readonly child: StartedChild | null };

/** One segment as it is in the log. */
export interface RecordedSegment {
  readonly segment: number;
  /** Ids of the decided interruptions that it started from, in its order. */
  readonly decisions: readonly string[];
  /** What the model answered, by turn. */
  readonly answers: ReadonlyMap<number, EventData<'model.responded'>>;
  readonly calls: ReadonlyMap<string, RecordedCall>;
  /** Its events that a replay derives again, by key. */
  readonly events: ReadonlyMap<string, EventDraft>;
  /** Null: it has not ended, or the run has ended with it. */
  readonly ending: 'paused' | 'cut' | null;
}

const isKind = (kind: string): kind is EventKind => Object.hasOwn(EVENT_DATA, kind);

/** An event with its data parsed. Throws `state_unreadable` for what was erased or is unknown to this build. */
export function draftOf(event: KeyedEvent): EventDraft {
  const { key, parentKey, kind } = event;
  const data = isKind(kind) ? EVENT_DATA[kind].safeParse(event.data) : null;
  if (data?.success === true) return { key, parentKey, kind, data: data.data } as EventDraft;
  const why = event.data === null ? 'its payload was erased' : `this build does not know its kind or shape (${kind})`;
  throw new HoldfastError('state_unreadable', `Event ${event.seq} cannot be replayed: ${why}.`);
}

/** The number of the segment that an event was derived by; null: it was written by something else. */
const segmentOfKey = (key: string): number | null => {
  const match = /^(\d+):/.exec(key);
  return match === null ? null : Number(match[1]);
};

/** The segments of a log, in order. */
export function segmentsOf(events: readonly KeyedEvent[]): RecordedSegment[] {
  const groups = new Map<number, EventDraft[]>();
  for (const event of events) {
    const segment = segmentOfKey(event.key);
    if (segment === null) continue;
    const group = groups.get(segment) ?? [];
    groups.set(segment, group);
    group.push(draftOf(event));
  }
  return [...groups].sort(([a], [b]) => a - b).map(([segment, drafts]) => segmentOf(segment, drafts));
}

const endOf = (outcome: CallOutcome): RecordedCall =>
  outcome.type === 'error' && outcome.code === 'guardrail_tripped'
    ? { type: 'tripped', outcome }
    : { type: 'settled', outcome };

function segmentOf(segment: number, drafts: readonly EventDraft[]): RecordedSegment {
  const answers = new Map<number, EventData<'model.responded'>>();
  const calls = new Map<string, RecordedCall>();
  const children = new Map<string, StartedChild>();
  const events = new Map<string, EventDraft>();
  let decisions: readonly string[] = [];
  let ending: RecordedSegment['ending'] = null;
  for (const draft of drafts) {
    if (draft.kind === 'run.paused') ending = 'paused';
    else if (draft.kind === 'segment.cut') ending = 'cut';
    else events.set(draft.key, draft);
    if (draft.kind === 'segment.started') decisions = draft.data.decisions;
    if (draft.kind === 'model.responded') answers.set(draft.data.turn, draft.data);
    if (draft.kind === 'call.finished') calls.set(draft.data.callId, endOf(draft.data.outcome));
    if (draft.kind === 'child.started') {
      const { callId, ...child } = draft.data;
      children.set(callId, child);
    }
    if (draft.kind === 'call.unknown') calls.set(draft.data.callId, { type: 'unknown', text: draft.data.text });
  }
  for (const { kind, data } of drafts) {
    if (ending === 'paused' && kind === 'call.started' && !calls.has(data.callId))
      calls.set(data.callId, { type: 'waits', child: children.get(data.callId) ?? null });
  }
  return { segment, decisions, answers, calls, events, ending };
}
