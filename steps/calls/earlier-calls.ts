/**
 * Knows of which calls a run may have something, so that a call that is new need not be looked for. What it does not know of
 * is still safe: outcomes and waits are kept once, and an unsafe call is always looked for.
 */
export class EarlierCalls {
  readonly #ids: Set<string> | null;

  /** The calls that the run had when the segment began; null: an execution before this one may have begun others. */
  constructor(ids: readonly string[] | null) {
    this.#ids = ids === null ? null : new Set(ids);
  }

  /** Whether the call may have left something before now. Asked once for each execution of a call. */
  has(callId: string): boolean {
    if (this.#ids === null || this.#ids.has(callId)) return true;
    this.#ids.add(callId);
    return false;
  }
}
