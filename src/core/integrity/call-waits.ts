import { z } from 'zod';
import { callWait, memoDigest, type PlacedWait, placedWait, type WaitSpec } from '../interruptions/wait.js';
import { canonical, type JsonValue, jsonValue } from '../json.js';
import { type FalseRow, isAtWork, isCutOff } from './copied-rows.js';
import type { LoggedFacts } from './logged-facts.js';

/** Compares the waits of calls and the memos of their tools with the interruptions of the log. */

/** A wait as the log has it. `memo`: digest of what the tool keeps; undefined: the log of an older build does not say. */
export interface LoggedWait {
  readonly wait: PlacedWait | null;
  readonly memo: string | null | undefined;
}

type Fault = Pick<FalseRow, 'column' | 'what'>;

/** Returns what is wrong with the column `waiting` of a call; null: it is the wait that the log has. */
export function waitFault(waiting: string | null, { wait, memo }: LoggedWait): Fault | null {
  const stored = parsed(callWait, waiting);
  if (stored === null || canonical(placedWait.parse(stored)) !== canonical(wait))
    return { column: 'waiting', what: 'it is not what the log says that the call waits for' };
  return memo === undefined || memo === memoDigest(stored.memo) ? null : OTHER_MEMO('waiting');
}

const OTHER_MEMO = (column: string): Fault => ({ column, what: 'its memo is not the one whose digest the log has' });

const withMemo = z.object({ memo: jsonValue });

/** The row of a call that waits, or that went on after a wait. */
export interface KeptWait {
  readonly callId: string;
  readonly waiting: string | null;
  readonly resumed: string | null;
}

/** Holds the waits of calls that a log has with the digests of their memos. */
export class LoggedWaits {
  readonly #byCall = new Map<string, { readonly spec: WaitSpec; readonly memo: string | null }[]>();

  constructor(facts: LoggedFacts) {
    // What an execution did last may be in the row and not in the log.
    if (isAtWork(facts) || isCutOff(facts)) return;
    const older = new Set<string>();
    for (const { asked } of facts.interruptions.values()) {
      const { callId, wait, memo } = asked;
      if (callId === null || wait === undefined) continue;
      if (memo === undefined) older.add(callId);
      else this.#byCall.set(callId, [...(this.#byCall.get(callId) ?? []), { spec: wait, memo }]);
    }
    for (const callId of older) this.#byCall.delete(callId);
  }

  /** Whether there is anything to compare. */
  get isEmpty(): boolean {
    return this.#byCall.size === 0;
  }

  /** Returns what is wrong with the row of a call; null: nothing, or the log does not say. */
  faultOf({ callId, waiting, resumed }: KeptWait): FalseRow | null {
    const logged = this.#byCall.get(callId);
    if (logged === undefined) return null;
    const found = this.#ofWaiting(waiting, logged) ?? this.#ofResumed(resumed, logged);
    return found === null ? null : { table: 'calls', row: callId, ...found };
  }

  #ofWaiting(waiting: string | null, logged: readonly { readonly spec: WaitSpec; readonly memo: string | null }[]) {
    if (waiting === null) return null;
    const ordinal = parsed(callWait, waiting)?.ordinal ?? 0;
    const faults = logged.map(({ spec, memo }) => waitFault(waiting, { wait: { ordinal, spec }, memo }));
    return faults.includes(null)
      ? null
      : (faults.find((one) => one?.what === OTHER_MEMO('').what) ?? faults[0] ?? null);
  }

  #ofResumed(resumed: string | null, logged: readonly { readonly memo: string | null }[]): Fault | null {
    if (resumed === null) return null;
    const stored = parsed(withMemo, resumed);
    const isLogged = stored !== null && logged.some(({ memo }) => memo === memoDigest(stored.memo));
    return isLogged ? null : OTHER_MEMO('resumed');
  }
}

/** Null: the text is no JSON, or of another shape. */
function parsed<T>(schema: z.ZodType<T>, text: string | null): T | null {
  try {
    return schema.safeParse(JSON.parse(text ?? 'null') as JsonValue).data ?? null;
  } catch {
    return null;
  }
}
