import { z } from 'zod';
import { differenceOf } from '../difference.js';
import { type JsonObject, type JsonValue, jsonObject, nameInPointer, toJson } from '../json.js';
import { Allowance } from '../limits/allowance.js';
import type { EventDraft, RunEvent } from './event.js';

/**
 * What an event says without what can only differ between two runs: their ids, those of what belongs to them, digests that
 * have these in them, and the ids that providers make up for answers and calls. Calls are named by their place.
 */

/** Written by where a run comes from or how it was carried on, not by what it did. */
const ABOUT_THE_LOG: ReadonlySet<string> = new Set([
  ...['run.created', 'run.forked', 'session.loaded', 'session.saved', 'segment.rebuilt'],
]);

/** Whether an event is compared. */
export const isCompared = ({ kind }: Pick<RunEvent, 'kind'>): boolean => !ABOUT_THE_LOG.has(kind);

/** Members that are left out, by kind. `segment`: its number depends on how often a run was carried on. */
const LEFT_OUT: { readonly [kind: string]: ReadonlySet<string> } = {
  'model.responded': new Set(['responseId', 'cost']),
  'call.checked': new Set(['digest']),
  'child.started': new Set(['policyVersion']),
  'child.ended': new Set(['stateHash', 'events']),
  'interruption.requested': new Set(['digest', 'memo']),
  'interruption.voted': new Set(['digest']),
  'interruption.decided': new Set(['digest']),
  'segment.started': new Set(['segment']),
  'run.paused': new Set(['segment', 'state']),
  'segment.cut': new Set(['segment', 'state']),
};

/** Members of an answer's items that providers make up. */
const MADE_UP: ReadonlySet<string> = new Set(['id', 'providerData']);

const ID = /\b(?:run|int|std)_[0-9a-f]{8,64}\b/g;

const answered = z.object({ turn: z.int(), output: z.array(jsonObject) });

/** The events of one run as those of another can be checked against them. Each is to be asked for once, in order. */
export class EventNormalizer {
  readonly #names = new Map<string, string>();
  readonly #calls = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  constructor(runId: string) {
    this.#names.set(runId, 'this run');
  }

  /** What the event says. `asked`: with the digest of what a model was asked, which has ids of calls in it. */
  of({ kind, data }: RunEvent, asked: boolean): JsonValue {
    this.#learn(kind, data);
    const left = LEFT_OUT[kind];
    if (typeof data !== 'object' || data === null || Array.isArray(data)) return data;
    const members = Object.entries(data).filter(
      ([name]) => !left?.has(name) && (asked || kind !== 'model.requested' || name !== 'inputDigest'),
    );
    return this.#plain(Object.fromEntries(members), kind === 'model.responded');
  }

  #learn(kind: string, data: JsonValue): void {
    const { id, childRunId } = (data ?? {}) as JsonObject;
    if (kind === 'interruption.requested') this.#name(id, 'interruption');
    if (kind === 'standing_decision.made') this.#name(id, 'standing decision');
    if (kind === 'child.started') this.#name(childRunId, 'child');
    const answer = kind === 'model.responded' ? answered.safeParse(data).data : undefined;
    for (const [index, item] of (answer?.output ?? []).entries())
      if (item['type'] === 'function_call') this.#calls.set(String(item['callId']), `call ${answer?.turn}.${index}`);
  }

  #name(id: JsonValue | undefined, what: string): void {
    if (typeof id !== 'string' || this.#names.has(id)) return;
    const number = (this.#counts.get(what) ?? 0) + 1;
    this.#counts.set(what, number);
    this.#names.set(id, `${what} ${number}`);
  }

  #plain(value: JsonValue, ofProvider: boolean, name = ''): JsonValue {
    if (typeof value === 'string') {
      const call = name === 'callId' ? this.#calls.get(value) : undefined;
      return call ?? value.replace(ID, (id) => this.#names.get(id) ?? id);
    }
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.#plain(item, ofProvider));
    const members = Object.entries(value as JsonObject).filter(([key]) => !ofProvider || !MADE_UP.has(key));
    return Object.fromEntries(members.map(([key, item]) => [key, this.#plain(item, ofProvider, key)]));
  }
}

/** A field of an event that says something else. */
export interface FieldDifference {
  /** JSON pointer (RFC 6901) into the data. */
  readonly field: string;
  readonly expected: JsonValue;
  readonly actual: JsonValue;
}

/** How an event that is derived again differs from the recorded one of the same kind, but for the fields at `ignored`. */
export function fieldDifferences(
  recorded: EventDraft,
  derived: EventDraft,
  ignored: ReadonlySet<string>,
): FieldDifference[] {
  const expected = comparable(recorded);
  const operations = differenceOf(expected, comparable(derived), new Allowance()).filter(
    ({ path }) => !ignored.has(path),
  );
  // A digest follows from the rest: beside what it follows from, it says nothing.
  const offersOthers = operations.some(({ path }) => path === '/tools' || path.startsWith('/tools/'));
  const telling = operations.filter(({ path }) => path !== '/digest' && !(offersOthers && path === '/terms/tools'));
  return (telling.length > 0 ? telling : operations).map((operation) => {
    const { path, op } = operation;
    return { field: path, expected: valueAt(expected, path), actual: op === 'remove' ? null : operation.value };
  });
}

/**
 * What counts of an event. Of a check it is what was asked for and decided: which rule of several that say the same, and
 * in which words, changes nothing that a model or a person reads, unless the call does not go.
 */
function comparable(draft: EventDraft): JsonObject {
  if (draft.kind !== 'call.checked') return toJson(draft.data) as JsonObject;
  const { checks, reason, ...data } = draft.data;
  return toJson({
    ...data,
    checks: checks.map(({ capability, effect }) => ({ capability, effect })),
    ...(data.decision === 'allow' ? {} : { reason }),
  }) as JsonObject;
}

/** The value at a pointer; null where there is none. */
function valueAt(value: JsonValue, pointer: string): JsonValue {
  let found: JsonValue | undefined = value;
  for (const part of pointer.split('/').slice(1)) {
    const at: JsonValue | undefined = found;
    if (typeof at !== 'object' || at === null) return null;
    const key = nameInPointer(part);
    found = Object.hasOwn(at, key) ? (at as JsonObject)[key] : undefined;
  }
  return found ?? null;
}
