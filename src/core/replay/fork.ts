import { z } from 'zod';
import { allowedIn } from '../interruptions/standing.js';
import { jsonObject, nameText } from '../json.js';
import { callOutcome } from '../log/call-outcome.js';
import type { EventData, EventDraft } from '../log/event.js';
import { draftOf, type KeyedEvent, segmentNumbers } from '../log/recording.js';
import { runInput, startRun, type Usage } from '../runs/run.js';
import { type BegunCall, begunCalls } from './begun-calls.js';
import { applyEdits, type ForkEdit, refuseFork } from './fork-edits.js';

/** What a fork takes over of the log of its source. */
export interface ForkPlan {
  /** The segment that the fork begins with: those before are in the log as a whole, of this one maybe a part. */
  readonly segment: number;
  /** Events of the source, with the edits in them. */
  readonly events: readonly EventDraft[];
  /** The calls that were begun, by call id. */
  readonly begun: ReadonlyMap<string, BegunCall>;
  /** Turns of the segments before, and tokens: their own and those of the runs that their calls started. */
  readonly turns: number;
  readonly usage: Usage;
}

const NOT_COPIED: ReadonlySet<string> = new Set([
  ...['run.created', 'run.forked', 'run.cancel_requested', 'session.loaded', 'session.saved'],
  ...['run.completed', 'run.failed', 'run.cancelled'],
]);

/**
 * What of a log a fork at an event is made of. An end of a segment counts if everything that it waited for was decided by
 * then; else the fork executes the segment again, and asks again. Throws `fork_invalid`.
 */
export function planFork(log: readonly KeyedEvent[], at: number, edits: readonly ForkEdit[]): ForkPlan {
  const last = log.at(-1)?.seq ?? 0;
  if (at > last) throw refuseFork('/at', `The log ends with event ${last}; there is no event ${at}.`);
  const kept = log.filter(({ seq }) => seq <= at).map(draftOf);
  const drafts = applyEdits(kept, edits).filter(({ kind }) => !NOT_COPIED.has(kind) && kind !== REVOKED);
  const { segment, events: begin, about } = beginOf(drafts);
  const events = [...begin, ...revocationsIn(begin, kept)];
  return { segment, events, begun: begunCalls(events, segment, edits, log, about), ...countedIn(begin, segment) };
}

const REVOKED = 'standing_decision.revoked';

/** What was revoked up to the event stays so, wherever the fork begins. */
function revocationsIn(begin: readonly EventDraft[], kept: readonly EventDraft[]): EventDraft[] {
  const made = new Set(begin.flatMap((one) => (one.kind === 'standing_decision.made' ? [one.data.id] : [])));
  return kept.filter((one) => one.kind === REVOKED && made.has(one.data.id));
}

function countedIn(events: readonly EventDraft[], segment: number): Pick<ForkPlan, 'turns' | 'usage'> {
  const numberOf = segmentNumbers(events);
  const counted = events.flatMap((one) =>
    (one.kind === 'model.responded' && numberOf(one.key) !== segment) || one.kind === 'child.ended' ? [one] : [],
  );
  const sum = (count: (usage: Usage) => number): number =>
    counted.reduce((total, { data }) => total + count(data.usage), 0);
  return {
    turns: counted.filter(({ kind }) => kind === 'model.responded').length,
    usage: {
      inputTokens: sum((usage) => usage.inputTokens),
      outputTokens: sum((usage) => usage.outputTokens),
      totalTokens: sum((usage) => usage.totalTokens),
    },
  };
}

/** Where a fork begins to execute, and what it has until there. */
interface ForkBegin {
  readonly segment: number;
  readonly events: readonly EventDraft[];
  /** The calls beside one that was begun, which were about to begin by what people allowed. */
  readonly about: readonly string[];
}

function beginOf(drafts: readonly EventDraft[]): ForkBegin {
  const began = drafts.findLastIndex(({ kind }) => kind === 'segment.started');
  const started = drafts[began];
  if (started?.kind !== 'segment.started') return { segment: 0, events: [], about: [] };
  const tail = drafts.slice(began);
  const segment = segmentNumbers(drafts)(started.key) ?? 0;
  const decided = new Set(
    drafts.flatMap((one) =>
      one.kind === 'interruption.decided' && one.data.verdict !== 'cancel' ? [one.data.id] : [],
    ),
  );
  const ended = tail.find(({ kind }) => kind === 'run.paused' || kind === 'segment.cut');
  const waits = ended?.kind === 'run.paused' ? ended.data.interruptions : [];
  if (ended !== undefined && waits.every((id) => decided.has(id)))
    return { segment: segment + 1, events: drafts, about: [] };
  return { segment, ...askingAgain(drafts.slice(0, began), lastGoodOf(tail)) };
}

/**
 * A segment that was judging calls, without those that would run by what people allowed: the fork judges them again, and asks.
 * Where a call beside them was begun, they stay as they were judged, and the fork asks before it runs them.
 */
function askingAgain(
  before: readonly EventDraft[],
  tail: readonly EventDraft[],
): { readonly events: readonly EventDraft[]; readonly about: readonly string[] } {
  const allowed = allowedIn([...before, ...tail]);
  const begun = new Set(
    tail.flatMap(({ kind, data }) => (kind === 'call.started' || kind === 'call.finished' ? [data.callId] : [])),
  );
  const isOpen = ({ kind, data }: EventDraft): boolean =>
    kind === 'call.checked' && !begun.has(data.callId) && allowed.has(data.callId);
  const first = tail.findIndex(isOpen);
  if (first < 0) return { events: [...before, ...tail], about: [] };
  if (tail.slice(first).every(({ kind, data }) => kind === 'call.checked' && !begun.has(data.callId)))
    return { events: [...before, ...tail.slice(0, first)], about: [] };
  const about = tail.flatMap((one) => (one.kind === 'call.checked' && isOpen(one) ? [one.data.callId] : []));
  return { events: [...before, ...tail], about };
}

/** Of a segment that does not end in the fork: until it had to wait, was stopped, or asked a model that gave no answer. */
function lastGoodOf(tail: readonly EventDraft[]): readonly EventDraft[] {
  const stop = tail.findIndex(
    (one) =>
      one.kind.startsWith('interruption.') ||
      ['call.unknown', 'model.failed', 'run.paused'].includes(one.kind) ||
      (one.kind === 'call.finished' && one.data.outcome.type === 'refused' && one.data.outcome.why === 'cancelled'),
  );
  const good = stop < 0 ? tail : tail.slice(0, stop);
  return good.at(-1)?.kind === 'model.requested' ? good.slice(0, -1) : good;
}

/**
 * The event that a failed run is tried again from: its last turn stays if any of its calls was begun or answered, so that
 * none is begun twice; else the model is asked again. A call that found no container engine did nothing, so it does not count.
 */
export function retryPoint(log: readonly KeyedEvent[]): number {
  const numberOf = segmentNumbers(log);
  const started = log.findLast(({ kind }) => kind === 'segment.started');
  const last = numberOf(started?.key ?? '');
  const segment = log.filter(({ key }) => last !== null && numberOf(key) === last);
  const request = segment.findLast(({ kind }) => kind === 'model.requested');
  const turn = segment.filter(({ seq }) => seq > (request?.seq ?? 0));
  const unreached = turn.filter(isUnreached);
  const isOf = callsOf(unreached);
  const acted = turn.some((one) => (one.kind === 'call.started' || one.kind === 'call.finished') && !isOf(one));
  const end = log.findLast(({ kind }) => !NOT_COPIED.has(kind) || kind === 'run.created')?.seq ?? 1;
  if (request !== undefined && !acted) return request.seq - 1;
  return Math.min(end, ...unreached.map(({ seq }) => seq - 1));
}

const isUnreached = (one: KeyedEvent): boolean => {
  const { outcome } = one.kind === 'call.finished' ? (one.data as EventData<'call.finished'>) : { outcome: null };
  return outcome?.type === 'error' && outcome.code === 'engine_unreachable';
};

const callIdOf = ({ data }: KeyedEvent): unknown => Reflect.get(Object(data), 'callId');

function callsOf(events: readonly KeyedEvent[]): (one: KeyedEvent) => boolean {
  const ids = new Set(events.map(callIdOf));
  return (one) => ids.has(callIdOf(one));
}

const { maxTurns, maxTotalTokens, maxDurationMs, maxElapsedMs, metadata } = startRun.shape;
const model = nameText.optional().describe('Asked in place of the models of the agents from here on.');
const shared = { model, maxTurns, maxTotalTokens, maxDurationMs, maxElapsedMs, metadata };

/** An outcome with a field that is not known is refused: what it was to say would be lost. */
const [output, error, refused] = callOutcome.options;
const editedOutcome = z.discriminatedUnion('type', [output.strict(), error.strict(), refused.strict()]);

/** The body of `POST /api/v1/runs/{id}/fork`. */
export const forkRun = z
  .strictObject({
    at: z
      .union([z.int().min(1), z.string().min(1).max(200)])
      .describe('The last event that the fork takes over: its sequence number, or its id.'),
    input: runInput.optional().describe('Another input. What was answered up to the event stays as it was.'),
    edits: z
      .array(
        z.union([
          z.strictObject({
            turn: z.int().min(1),
            output: z.array(jsonObject).min(1).max(1000).describe('Items in the format of the Agents SDK.'),
          }),
          z.strictObject({ callId: z.string().min(1).max(1000), outcome: editedOutcome }),
        ]),
      )
      .max(100)
      .optional()
      .describe(
        'Other answers of the model, or other outcomes of calls. What came after the first of them is not taken over.',
      ),
    ...shared,
  })
  .meta({ id: 'ForkRun' });
export type ForkRun = z.input<typeof forkRun>;

/** What a fork and a retry may change of how the run goes on. */
export type Onward = z.output<typeof retryRun>;

/** The body of `POST /api/v1/runs/{id}/retry`. */
export const retryRun = z.strictObject(shared).meta({ id: 'RetryRun' });
export type RetryRun = z.input<typeof retryRun>;
