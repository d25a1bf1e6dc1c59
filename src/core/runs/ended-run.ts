import { storedRow } from '../integrity/begin-rows.js';
import { type FalseRow, falseRows, NO_COPIES } from '../integrity/copied-rows.js';
import { LoggedFacts } from '../integrity/logged-facts.js';
import { sha256 } from '../json.js';
import { EVENT_DATA, type EventKind, type ToldEvent } from '../log/event.js';

/** The column of a run that is over that does not say what its log says; null: all do. Looks at an event at a time. */
export function* falseRun(
  row: { readonly id: string; readonly tenant: string },
  log: readonly ToldEvent[],
): Generator<void, FalseRow | null> {
  const facts = new LoggedFacts();
  for (const { seq, kind, at, data } of log) {
    if (!Object.hasOwn(EVENT_DATA, kind)) continue;
    const parsed = EVENT_DATA[kind as EventKind].safeParse(data);
    if (parsed.success) facts.take(kind as EventKind, parsed.data as never, { seq, at });
    yield;
  }
  const [first] = falseRows(facts, row.id, { ...NO_COPIES, runs: [storedRow('runs', row, row)] }, 1, {});
  return first ?? null;
}

/** Whether a definition is the one that its hash is of. */
export const isDefinition = (hash: string, definition: string): boolean => sha256(definition) === hash;
