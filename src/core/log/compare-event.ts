import { differenceOf } from '../difference.js';
import { type JsonObject, type JsonValue, nameInPointer, toJson } from '../json.js';
import { Allowance } from '../limits/allowance.js';
import type { EventDraft } from './event.js';

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
