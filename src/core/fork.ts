import { callDigest } from './call.js';
import { HoldfastError } from './errors.js';
import type { CallOutcome, EventDraft } from './event.js';
import { digestOf, type JsonObject, type JsonValue } from './json.js';
import { draftOf, type KeyedEvent } from './recording.js';
import type { Usage } from './run.js';

/** Another answer of the model at a turn, or another outcome of a call. What comes after the first edit is not kept. */
export type ForkEdit =
  | { readonly turn: number; readonly output: readonly JsonObject[] }
  | { readonly callId: string; readonly outcome: CallOutcome };

/** What a fork takes over of the log of its source. */
export interface ForkPlan {
  /** The segment that the fork begins with: those before are in the log as a whole, of this one maybe a part. */
  readonly segment: number;
  /** Events of the source, with the edits in them. */
  readonly events: readonly EventDraft[];
  /** Turns and tokens of the segments before. */
  readonly turns: number;
  readonly usage: Usage;
}

const NOT_COPIED: ReadonlySet<string> = new Set([
  ...['run.created', 'run.forked', 'run.cancel_requested', 'session.loaded', 'session.saved'],
  ...['run.completed', 'run.failed', 'run.cancelled'],
  // What holds for later calls holds for those of its run.
  ...['standing_decision.made', 'standing_decision.revoked'],
]);

const refuse = (message: string): HoldfastError => new HoldfastError('fork_invalid', message);

/**
 * What of a log a fork at an event is made of. An end of a segment counts if everything that it waited for was decided by
 * then; else the fork executes the segment again, and asks again. Throws `fork_invalid`.
 */
export function planFork(log: readonly KeyedEvent[], at: number, edits: readonly ForkEdit[]): ForkPlan {
  const last = log.at(-1)?.seq ?? 0;
  if (at > last) throw refuse(`The log ends with event ${last}; there is no event ${at}.`);
  const kept = log.filter(({ seq }) => seq <= at);
  const edited = applyEdits(
    kept.map((event) => ({ seq: event.seq, draft: draftOf(event) })),
    edits,
  );
  const drafts = edited.filter((draft) => !NOT_COPIED.has(draft.kind));
  const { segment, events } = beginOf(drafts);
  assertNoChild(events);
  const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  let turns = 0;
  for (const event of events) {
    if (event.kind !== 'model.responded' || event.key.startsWith(`${segment}:`)) continue;
    turns++;
    usage.inputTokens += event.data.usage.inputTokens;
    usage.outputTokens += event.data.usage.outputTokens;
    usage.totalTokens += event.data.usage.totalTokens;
  }
  return { segment, events, turns, usage };
}

/** The end of a child run is told to its own parent alone. */
function assertNoChild(events: readonly EventDraft[]): void {
  const over = new Set(events.flatMap((one) => (one.kind === 'call.finished' ? [one.data.callId] : [])));
  for (const one of events)
    if (one.kind === 'child.started' && !over.has(one.data.callId))
      throw refuse(
        `The call ${one.data.callId} waits there for its own run ${one.data.childRunId}. Fork before it began, or after its end.`,
      );
}

interface Placed {
  readonly seq: number;
  readonly draft: EventDraft;
}

/** Ends that no edit of an outcome survives: what the model read, or what the run waited for, came from the outcome. */
const AFTER_OUTCOME: ReadonlySet<string> = new Set([
  ...['model.requested', 'interruption.requested', 'run.paused', 'segment.cut', 'segment.started'],
  ...['run.completed', 'run.failed', 'run.cancelled'],
]);

function applyEdits(placed: readonly Placed[], edits: readonly ForkEdit[]): readonly EventDraft[] {
  let end = Number.POSITIVE_INFINITY;
  let result = placed;
  const places: { readonly what: string; readonly index: number }[] = [];
  for (const edit of edits) {
    const index = indexOf(placed, edit);
    const what = 'turn' in edit ? `turn ${edit.turn}` : `the call ${edit.callId}`;
    if (index < 0)
      throw refuse(
        `The log has no ${'turn' in edit ? 'answer of the model at' : 'outcome of'} ${what} up to the event.`,
      );
    const after = placed.findIndex(({ draft }, place) => place > index && AFTER_OUTCOME.has(draft.kind));
    const over = 'turn' in edit ? index + 1 : after < 0 ? placed.length : after;
    places.push({ what, index });
    end = Math.min(end, over);
    result = result.map((one, place) => (place === index ? { ...one, draft: withEdit(one.draft, edit) } : one));
  }
  const lost = places.find(({ index }) => index >= end);
  if (lost !== undefined)
    throw refuse(
      `${lost.what} comes after another edit, which changes everything that follows. Leave one of them out.`,
    );
  assertOwnCallIds(placed.slice(0, end), edits);
  return result.slice(0, end).map(({ draft }) => draft);
}

const indexOf = (placed: readonly Placed[], edit: ForkEdit): number =>
  placed.findLastIndex(({ draft }) =>
    'turn' in edit
      ? draft.kind === 'model.responded' && draft.data.turn === edit.turn
      : draft.kind === 'call.finished' && draft.data.callId === edit.callId,
  );

function withEdit(draft: EventDraft, edit: ForkEdit): EventDraft {
  if ('turn' in edit && draft.kind === 'model.responded')
    return { ...draft, data: { ...draft.data, output: [...edit.output] } };
  if ('callId' in edit && draft.kind === 'call.finished')
    return { ...draft, data: { ...draft.data, outcome: edit.outcome } };
  return draft;
}

const callIdsOf = (output: readonly JsonObject[]): JsonValue[] =>
  output.filter((item) => item['type'] === 'function_call').map((item) => item['callId'] ?? null);

/** Approvals, intents and outcomes belong to the id of a call: one that was used before would get what belongs to the other. */
function assertOwnCallIds(placed: readonly Placed[], edits: readonly ForkEdit[]): void {
  for (const edit of edits) {
    if (!('turn' in edit)) continue;
    const used = new Set(
      placed.flatMap(({ draft }) =>
        draft.kind === 'model.responded' && draft.data.turn !== edit.turn ? callIdsOf(draft.data.output) : [],
      ),
    );
    for (const id of callIdsOf(edit.output)) {
      if (typeof id !== 'string' || id === '')
        throw refuse(`A call of the answer of turn ${edit.turn} has no callId. Give each a text of its own.`);
      if (used.has(id))
        throw refuse(`The callId ${id} of turn ${edit.turn} was used before in the run. Give it another.`);
      used.add(id);
    }
  }
}

/** Where the fork begins to execute, and what it has until there. */
function beginOf(drafts: readonly EventDraft[]): { readonly segment: number; readonly events: readonly EventDraft[] } {
  const began = drafts.findLastIndex(({ kind }) => kind === 'segment.started');
  const started = drafts[began];
  if (started?.kind !== 'segment.started') return { segment: 0, events: [] };
  const { segment } = started.data;
  const tail = drafts.slice(began);
  const decided = new Set(
    drafts.flatMap((one) =>
      one.kind === 'interruption.decided' && one.data.verdict !== 'cancel' ? [one.data.id] : [],
    ),
  );
  const ended = tail.find(({ kind }) => kind === 'run.paused' || kind === 'segment.cut');
  const waits = ended?.kind === 'run.paused' ? ended.data.interruptions : [];
  if (ended !== undefined && waits.every((id) => decided.has(id))) return { segment: segment + 1, events: drafts };
  return { segment, events: [...drafts.slice(0, began), ...lastGoodOf(tail)] };
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
 * none is begun twice; else the model is asked again.
 */
export function retryPoint(log: readonly KeyedEvent[]): number {
  const segment = log.filter(({ key }) => key.startsWith(`${lastSegment(log)}:`));
  const request = segment.findLast(({ kind }) => kind === 'model.requested');
  const acted = segment.some(
    ({ seq, kind }) => seq > (request?.seq ?? 0) && (kind === 'call.started' || kind === 'call.finished'),
  );
  const end = log.findLast(({ kind }) => !NOT_COPIED.has(kind) || kind === 'run.created')?.seq ?? 1;
  return request === undefined || acted ? end : request.seq - 1;
}

const lastSegment = (log: readonly KeyedEvent[]): number => {
  const started = log.findLast(({ kind }) => kind === 'segment.started');
  return Number(/^\d+/.exec(started?.key ?? '0')?.[0] ?? 0);
};

/** Ids and digests of the source, and what stands for them in the fork. */
export interface Rebinding {
  readonly interruptions: ReadonlyMap<string, string>;
  readonly digests: ReadonlyMap<string, string>;
}

/**
 * Binds what belongs to the source to the fork. The new ids of interruptions have the order of the old ones, in which
 * decisions are applied.
 */
export function rebindingOf(events: readonly EventDraft[], runId: string, policyVersion: string): Rebinding {
  const ids = events.flatMap((one) => (one.kind === 'interruption.requested' ? [one.data.id] : [])).sort();
  const fresh = ids.map((id) => `int_${digestOf([runId, id]).slice('sha256:'.length, 'sha256:'.length + 32)}`).sort();
  const digests = events.flatMap((one): [string, string][] => {
    if (one.kind !== 'call.checked') return [];
    const { callId, tool, toolVersion, arguments: args, digest } = one.data;
    return [[digest, callDigest({ runId, callId, tool, toolVersion, arguments: args, policyVersion })]];
  });
  const edited = events.flatMap((one): [string, string][] => {
    if ((one.kind !== 'interruption.decided' && one.kind !== 'interruption.voted') || one.data.edit === undefined)
      return [];
    const { digest: asked, edit } = one.data;
    const checked = events.find((call) => call.kind === 'call.checked' && call.data.digest === asked);
    if (checked?.kind !== 'call.checked') return [];
    const { callId, tool, toolVersion } = checked.data;
    return [[edit.digest, callDigest({ runId, callId, tool, toolVersion, arguments: edit.arguments, policyVersion })]];
  });
  return {
    interruptions: new Map(ids.map((id, index) => [id, fresh[index] ?? id])),
    digests: new Map([...digests, ...edited]),
  };
}

/** An event of the source as the fork has it. */
export function rebound(draft: EventDraft, { interruptions, digests }: Rebinding): EventDraft {
  const id = (text: string): string => interruptions.get(text) ?? text;
  const keyOf = (key: string): string =>
    key.replace(
      /^(interruption|decision|vote):([^:]*)(.*)$/,
      (_, kind: string, of: string, rest: string) => `${kind}:${id(of)}${rest}`,
    );
  const own = { ...draft, key: keyOf(draft.key), parentKey: draft.parentKey === null ? null : keyOf(draft.parentKey) };
  const digest = (text: string): string => digests.get(text) ?? text;
  switch (own.kind) {
    case 'call.checked':
      return { ...own, data: { ...own.data, digest: digest(own.data.digest) } };
    case 'interruption.voted':
    case 'interruption.decided': {
      const { edit, ...data } = own.data;
      const rest = edit === undefined ? {} : { edit: { ...edit, digest: digest(edit.digest) } };
      return { ...own, data: { ...data, id: id(data.id), digest: digest(data.digest), ...rest } } as EventDraft;
    }
    case 'interruption.requested':
      return { ...own, data: { ...own.data, id: id(own.data.id), digest: digest(own.data.digest) } } as EventDraft;
    case 'segment.started':
      return { ...own, data: { ...own.data, decisions: own.data.decisions.map(id) } };
    case 'run.paused':
      return { ...own, data: { ...own.data, interruptions: own.data.interruptions.map(id) } };
    default:
      return own;
  }
}
