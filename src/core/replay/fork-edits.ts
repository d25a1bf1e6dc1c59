import { HoldfastError } from '../errors/errors.js';
import type { JsonObject, JsonValue } from '../json.js';
import type { CallOutcome } from '../log/call-outcome.js';
import type { EventData, EventDraft } from '../log/event.js';

/** Another answer of the model at a turn, or another outcome of a call. What comes after the first edit is not kept. */
export type ForkEdit =
  | { readonly turn: number; readonly output: readonly JsonObject[] }
  | { readonly callId: string; readonly outcome: CallOutcome };

/** `pointer`: what of the request is wrong. */
export const refuseFork = (pointer: string, message: string): HoldfastError =>
  new HoldfastError('fork_invalid', message, { fields: [{ pointer, detail: message }] });

/** Ends that no edit of an outcome survives: what the model read, or what the run waited for, came from the outcome. */
const AFTER_OUTCOME: ReadonlySet<string> = new Set([
  ...['model.requested', 'interruption.requested', 'run.paused', 'segment.cut', 'segment.started'],
  ...['run.completed', 'run.failed', 'run.cancelled'],
]);

/**
 * A log with edits in it, up to where the first of them changes what follows. Throws `fork_invalid` for an edit of what is not
 * there, or comes after another.
 */
export function applyEdits(drafts: readonly EventDraft[], edits: readonly ForkEdit[]): readonly EventDraft[] {
  let end = Number.POSITIVE_INFINITY;
  let result = drafts;
  const places: { readonly what: string; readonly index: number; readonly pointer: string }[] = [];
  for (const [number, edit] of edits.entries()) {
    const pointer = `/edits/${number}`;
    const index = indexOf(drafts, edit);
    const what = 'turn' in edit ? `turn ${edit.turn}` : `the call ${edit.callId}`;
    if (index < 0)
      throw refuseFork(
        pointer,
        `The log has no ${'turn' in edit ? 'answer of the model at' : 'outcome of'} ${what} up to the event.`,
      );
    if (places.some((place) => place.index === index)) throw refuseFork(pointer, `Another edit is of ${what} too.`);
    if ('callId' in edit) assertRan(drafts.slice(0, index), edit.callId, pointer);
    const after = drafts.findIndex(({ kind }, place) => place > index && AFTER_OUTCOME.has(kind));
    const over = 'turn' in edit ? index + 1 : after < 0 ? drafts.length : after;
    places.push({ what, index, pointer });
    end = Math.min(end, over);
    result = result.map((one, place) => (place === index ? withEdit(one, edit) : one));
  }
  const lost = places.find(({ index }) => index >= end);
  if (lost !== undefined)
    throw refuseFork(
      lost.pointer,
      `${lost.what} comes after another edit, which changes everything that follows. Leave one of them out.`,
    );
  assertOwnCallIds(drafts.slice(0, end), edits);
  return result.slice(0, end);
}

/** What a call that never ran came to follows from how it was judged. */
function assertRan(before: readonly EventDraft[], callId: string, pointer: string): void {
  if (before.some(({ kind, data }) => kind === 'call.started' && data.callId === callId)) return;
  throw refuseFork(
    pointer,
    `The call ${callId} was refused and never ran, so that it has no other outcome. Fork from an event before that, or edit the answer of the model.`,
  );
}

const indexOf = (drafts: readonly EventDraft[], edit: ForkEdit): number =>
  drafts.findLastIndex((draft) =>
    'turn' in edit
      ? draft.kind === 'model.responded' && draft.data.turn === edit.turn
      : draft.kind === 'call.finished' && draft.data.callId === edit.callId,
  );

function withEdit(draft: EventDraft, edit: ForkEdit): EventDraft {
  if ('turn' in edit && draft.kind === 'model.responded')
    return { ...draft, data: { ...draft.data, output: [...edit.output] } };
  if ('callId' in edit && draft.kind === 'call.finished')
    return { ...draft, data: { ...withoutGiven(draft.data), outcome: edit.outcome } };
  return draft;
}

/** The ids of the calls that an answer of a model asks for. */
export const callIdsOf = (output: readonly JsonObject[]): JsonValue[] =>
  output.filter((item) => item['type'] === 'function_call').map((item) => item['callId'] ?? null);

/** Approvals, intents and outcomes belong to the id of a call: one that was used before would get what belongs to the other. */
function assertOwnCallIds(drafts: readonly EventDraft[], edits: readonly ForkEdit[]): void {
  for (const [number, edit] of edits.entries()) {
    if (!('turn' in edit)) continue;
    const pointer = `/edits/${number}/output`;
    const used = new Set(
      drafts.flatMap((draft) =>
        draft.kind === 'model.responded' && draft.data.turn !== edit.turn ? callIdsOf(draft.data.output) : [],
      ),
    );
    for (const id of callIdsOf(edit.output)) {
      if (typeof id !== 'string' || id === '')
        throw refuseFork(
          pointer,
          `A call of the answer of turn ${edit.turn} has no callId. Give each a text of its own.`,
        );
      if (used.has(id))
        throw refuseFork(pointer, `The callId ${id} of turn ${edit.turn} was used before in the run. Give it another.`);
      used.add(id);
    }
  }
}

/** What the tool gave in place of an outcome that no one uses any more. */
function withoutGiven({ given: _, ...data }: EventData<'call.finished'>): EventData<'call.finished'> {
  return data;
}
