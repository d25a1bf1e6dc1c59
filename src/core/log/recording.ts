import type { StepNote } from '../agents/scaffold.js';
import type { StartedChild } from '../agents/sub-agent.js';
import type { WorkspaceChanges } from '../containers/workspace-changes.js';
import { HoldfastError } from '../errors/errors.js';
import type { JsonObject, JsonValue } from '../json.js';
import type { ApprovedPlan } from '../runs/run.js';
import type { ContextNote } from '../runs/run-context.js';
import type { TrustLabel } from '../tools/tool-memory.js';
import type { CallOutcome } from './call-outcome.js';
import { EVENT_DATA, type EventData, type EventDraft, type EventKind } from './event.js';

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
  | {
      readonly type: 'settled';
      readonly outcome: CallOutcome;
      readonly note?: StepNote;
      readonly workspace?: WorkspaceChanges;
      readonly given?: string;
      readonly context?: ContextNote;
    }
  /** A guardrail of its tool ended the run. */
  | {
      readonly type: 'tripped';
      readonly outcome: Extract<CallOutcome, { type: 'error' }>;
      readonly given?: string;
      readonly context?: ContextNote;
    }
  | { readonly type: 'unknown'; readonly text: string }
  /** It was begun, and its segment ended to wait for what it asked for. */
  | { readonly type: 'waits'; readonly child: StartedChild | null };

/** One segment as it is in the log, with all that was recorded of it under the numbers that it had before. */
export interface RecordedSegment {
  readonly segment: number;
  /** The number that it began with: each time that it was rebuilt it got the next one. */
  readonly first: number;
  /** Ids of the decided interruptions that it started from, in its order. */
  readonly decisions: readonly string[];
  /** What the model answered, by turn. */
  readonly answers: ReadonlyMap<number, EventData<'model.responded'>>;
  readonly calls: ReadonlyMap<string, RecordedCall>;
  /** Turns whose model call failed for good. */
  readonly failures: ReadonlyMap<number, EventData<'model.failed'>>;
  /** Its events that a replay derives again, by key. */
  readonly events: ReadonlyMap<string, EventDraft>;
  /** Null: it has not ended, or the run has ended with it. */
  readonly ending: 'paused' | 'cut' | null;
  /** The context of the run at its end; null: the segment did not change it. */
  readonly context: ContextNote | null;
}

const isKind = (kind: string): kind is EventKind => Object.hasOwn(EVENT_DATA, kind);

/** Every part of a replay or a fork looks at the events of a log again; each is parsed once. */
const parsed = new WeakMap<KeyedEvent, EventDraft>();

/** An event with its data parsed. Throws `state_unreadable` for what was erased or is unknown to this build. */
export function draftOf(event: KeyedEvent): EventDraft {
  const before = parsed.get(event);
  if (before !== undefined) return before;
  const { key, parentKey, kind } = event;
  const data = isKind(kind) ? EVENT_DATA[kind].safeParse(event.data) : null;
  if (data?.success === true) {
    const draft = { key, parentKey, kind, data: data.data } as EventDraft;
    parsed.set(event, draft);
    return draft;
  }
  const why = event.data === null ? 'its payload was erased' : `this build does not know its kind or shape (${kind})`;
  throw new HoldfastError('state_unreadable', `Event ${event.seq} cannot be replayed: ${why}.`);
}

/** What a run was given, as the first event of its log says. Null: nothing. */
export interface Given {
  readonly context: JsonObject | null;
  readonly state: JsonObject | null;
  readonly approvedPlan: ApprovedPlan | null;
  readonly labels: readonly TrustLabel[];
}

export function givenIn([created]: readonly Pick<KeyedEvent, 'data'>[]): Given {
  const {
    context = null,
    state = null,
    approvedPlan = null,
    labels = [],
  } = EVENT_DATA['run.created'].safeParse(created?.data).data ?? {};
  return { context, state, approvedPlan, labels };
}

/** Whether it can be read; then `draftOf` costs nothing any more. */
export function isReadable(event: KeyedEvent): boolean {
  try {
    draftOf(event);
    return true;
  } catch {
    return false;
  }
}

/** What an event is called where a person reads of it. */
export const eventName = ({ kind, data }: EventDraft): string => {
  const { callId, tool, turn } = data as JsonObject;
  if (typeof callId === 'string') return `${kind} of ${String(tool)} (${callId})`;
  return turn === undefined ? kind : `${kind} of turn ${String(turn)}`;
};

/** The number of the segment that an event was derived by; null: it was written by something else. */
const segmentOfKey = (key: string): number | null => {
  const match = /^(\d+):/.exec(key);
  return match === null ? null : Number(match[1]);
};

/**
 * The number that a segment of a log has by now, by the key of an event that it has derived: whenever it is rebuilt it gets the
 * next one. Null: something else wrote the event.
 */
export function segmentNumbers(events: readonly Pick<KeyedEvent, 'key' | 'kind'>[]): (key: string) => number | null {
  const rebuilt = new Set(events.flatMap(({ key, kind }) => (kind === 'segment.rebuilt' ? [segmentOfKey(key)] : [])));
  return (key) => {
    let segment = segmentOfKey(key);
    while (segment !== null && rebuilt.has(segment)) segment += 1;
    return segment;
  };
}

/** The segments of a log, in order. */
export function segmentsOf(events: readonly KeyedEvent[]): RecordedSegment[] {
  const numberOf = segmentNumbers(events);
  const groups = new Map<number, EventDraft[]>();
  for (const event of events) {
    const segment = numberOf(event.key);
    if (segment === null || event.kind === 'segment.rebuilt') continue;
    const group = groups.get(segment) ?? [];
    groups.set(segment, group);
    group.push(draftOf(event));
  }
  return [...groups].sort(([a], [b]) => a - b).map(([segment, drafts]) => segmentOf(segment, drafts));
}

/** Whether none is missing between the segments of a log. */
export const areWhole = (segments: readonly RecordedSegment[]): boolean =>
  segments.every(({ first }, index) => first === (segments[index - 1]?.segment ?? -1) + 1);

function endOf({ outcome, step, given, context, workspace }: EventData<'call.finished'>): RecordedCall {
  const replaced = { ...(given === undefined ? {} : { given }), ...(context && { context }) };
  return outcome.type === 'error' && outcome.code === 'guardrail_tripped'
    ? { type: 'tripped', outcome, ...replaced }
    : { type: 'settled', outcome, ...(step && { note: step }), ...(workspace && { workspace }), ...replaced };
}

function segmentOf(segment: number, drafts: readonly EventDraft[]): RecordedSegment {
  const answers = new Map<number, EventData<'model.responded'>>();
  const failures = new Map<number, EventData<'model.failed'>>();
  const calls = new Map<string, RecordedCall>();
  const children = new Map<string, StartedChild>();
  const events = new Map<string, EventDraft>();
  let first = segment;
  let decisions: readonly string[] = [];
  let ending: RecordedSegment['ending'] = null;
  let context: ContextNote | null = null;
  for (const draft of drafts) {
    if (draft.kind === 'run.paused') ending = 'paused';
    else if (draft.kind === 'segment.cut') ending = 'cut';
    else events.set(draft.key, draft);
    if (draft.kind === 'run.paused' || draft.kind === 'segment.cut') context = draft.data.context ?? null;
    if (draft.kind === 'segment.started') ({ segment: first, decisions } = draft.data);
    if (draft.kind === 'model.responded') answers.set(draft.data.turn, draft.data);
    if (draft.kind === 'model.failed') failures.set(draft.data.turn, draft.data);
    if (draft.kind === 'call.finished') calls.set(draft.data.callId, endOf(draft.data));
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
  return { segment, first, decisions, answers, failures, calls, events, ending, context };
}
