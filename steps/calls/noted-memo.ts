import type { Settlement } from '../../src/core/interruptions/settlement.js';
import { isObject, type JsonValue } from '../../src/core/json.js';
import type { CallOutcome } from '../../src/core/log/call-outcome.js';
import { type MemoryNote, memoryNote } from '../../src/core/tools/tool-memory.js';

/**
 * What a body read of memory before it waits stands in its memo, whose digest the log has: what goes on after the wait may say the same
 * words, and has their labels.
 */
const NOTED = 'holdfast:memory';

/** A memo with what the body read; null: it read nothing. */
export const notedMemo = (memo: JsonValue, note: MemoryNote | null): JsonValue =>
  note === null ? memo : { [NOTED]: { ...note }, memo };

/** The memo as the tool gave it, and what its body had read. */
function readMemo(memo: JsonValue): { readonly memo: JsonValue; readonly note: MemoryNote | null } {
  if (!isObject(memo) || !Object.hasOwn(memo, NOTED)) return { memo, note: null };
  const { [NOTED]: noted, memo: own = null } = memo;
  return { memo: own, note: memoryNote.safeParse(noted).data ?? null };
}

/** A settlement as the tool gets it. `note` hears what its body had read before the wait. */
export function settlementFor(settlement: Settlement | null, note: (note: MemoryNote) => void): Settlement | null {
  if (settlement === null) return null;
  const read = readMemo(settlement.memo);
  if (read.note !== null) note(read.note);
  return { ...settlement, memo: read.memo };
}

/** The outcome of a call whose tool does not go on after its wait, with what its body had read before. */
export function withNoted(outcome: CallOutcome, { memo }: Settlement): CallOutcome {
  const { note } = readMemo(memo);
  return note === null || outcome.type === 'refused' ? outcome : { ...outcome, memory: { ...note, ...outcome.memory } };
}
