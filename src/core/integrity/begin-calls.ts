import type { InterruptionReason } from '../interruptions/interruption.js';
import { type PlacedWait, placedWait } from '../interruptions/wait.js';
import { canonical } from '../json.js';
import type { FalseRow } from './copied-rows.js';

/** What a segment goes on with of a call that its run has waited for: its row, as nothing but the log can have left it. */

/** What was asked about a call, as its row says it, which was compared with the log. */
export interface AskedCall {
  readonly callId: string;
  readonly reason: InterruptionReason;
  /** Null: it is asked whether the call may run. */
  readonly wait: PlacedWait | null;
}

/** The row of a call when a segment begins. */
export interface CallAtBegin {
  readonly ended: boolean;
  /** What it waits for, as the column has it. */
  readonly waiting: string | null;
  /** The run that a fork took it over from. */
  readonly origin: string | null;
}

/**
 * The first call whose row is not as the pause before has left it; null: all are. A call that was to be approved has none, one that waits has what
 * it waits for, and none of them has an outcome: the body of a call would not run by a decision, or under another one.
 */
export function falseCall(asked: readonly AskedCall[], rows: ReadonlyMap<string, CallAtBegin>): FalseRow | null {
  for (const one of asked) {
    const row = rows.get(one.callId);
    const found = faultOf(one, row);
    if (found !== null) return { table: 'calls', row: one.callId, ...found };
  }
  return null;
}

function faultOf({ reason, wait }: AskedCall, row: CallAtBegin | undefined): Pick<FalseRow, 'column' | 'what'> | null {
  if (row === undefined)
    return wait === null ? null : { column: null, what: 'the row of a call that waits is missing' };
  if (row.ended) return { column: 'outcome', what: 'it has one, and the log says that the call has not ended' };
  if (wait !== null) {
    const isSame = waitIn(row.waiting) === canonical(wait);
    return isSame ? null : { column: 'waiting', what: 'it is not what the log says that the call waits for' };
  }
  // A fork asks again about a call that was begun in its source.
  const begun = reason === 'unknown_effect' || row.origin !== null;
  return begun ? null : { column: null, what: 'the log says that the call has not begun' };
}

/** Null: nothing that a call can wait for. */
function waitIn(waiting: string | null): string | null {
  try {
    return canonical(placedWait.parse(JSON.parse(waiting ?? 'null')));
  } catch {
    return null;
  }
}
