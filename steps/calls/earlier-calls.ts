import type { StepContext } from '../context.js';
import { withDatabaseRetry } from '../database-retry.js';

/**
 * Knows the calls that a run may have something of, so that a call that is new need not be looked for. What it does not know of
 * is still safe: outcomes and waits are kept once, and an unsafe call is always looked for.
 */
export class EarlierCalls {
  readonly #ids: ReadonlySet<string> | null;
  readonly #begun = new Set<string>();

  /** The calls that the run had when the segment began; null: an execution before this one may have begun others. */
  constructor(ids: readonly string[] | null) {
    this.#ids = ids === null ? null : new Set(ids);
  }

  /** Whether the call may have left something before now. Asked once for each execution of a call. */
  has(callId: string): boolean {
    if (!this.willBeNew(callId)) return true;
    this.#begun.add(callId);
    return false;
  }

  /** Whether nothing of the call can be there before it begins. */
  willBeNew(callId: string): boolean {
    return this.#ids !== null && !this.#ids.has(callId) && !this.#begun.has(callId);
  }

  /** Whether this execution is the first that begins the call: no one but it writes the row of the call. */
  isNew(callId: string): boolean {
    return this.#begun.has(callId);
  }
}

/** What a call comes to whose row someone wrote before it began: its body does not run, and the run ends. */
export const writtenBefore = (callId: string) => {
  const message =
    `The row ${callId} of calls was written before the call began, by no worker: neither its outcome ` +
    'nor its wait is taken, and the call was not executed.';
  return { type: 'settled', outcome: { type: 'error', code: 'row_changed', message } } as const;
};

/** Whether only this process can have written the rows of the run's calls. One that was taken over finds those of another one. */
export const isAlone = ({ lease }: Pick<StepContext, 'lease'>): Promise<boolean> =>
  withDatabaseRetry(() => lease.confirm());
