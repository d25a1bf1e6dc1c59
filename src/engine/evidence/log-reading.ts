import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import { LoggedWaits } from '../../core/integrity/call-waits.js';
import { type FoundRow, falseRows, type StoredCopies } from '../../core/integrity/copied-rows.js';
import { LoggedFacts } from '../../core/integrity/logged-facts.js';
import type { Head } from '../../core/log/chain.js';
import { LogCheck, type LoggedEvent } from '../../core/log/check-log.js';
import { type Broken, type Fault, fault } from '../../core/log/invariant.js';
import { endFault, reportOn, rowFault, type VerifyReport } from '../../core/log/verify-log.js';
import { breathe } from '../../storage/database/timing.js';
import { type ClaimRow, readClaim, readLogPage } from '../../storage/evidence/log-pages.js';
import { keptWaits } from '../../storage/integrity/kept-waits.js';
import { falseMemoryOfRun } from '../../storage/integrity/memory-of-run.js';
import { fits, type KeptFold } from '../../storage/log/fold-snapshots.js';

const FALSE_ROWS_MAX = 20;
const EVENTS_AT_ONCE = 200;
/** So many are looked at before everything else of the process may have its turn. */
const EVENTS_PER_BREATH = 20;

/**
 * The events of a log after a number, a few at a time. The next page is read while one is worked on. Throws the reason of the signal when
 * it fires.
 */
export async function* logPages(
  db: Knex,
  runId: string,
  after: number,
  signal?: AbortSignal,
): AsyncGenerator<readonly LoggedEvent[], void> {
  let reading = readLogPage(db, runId, after, EVENTS_AT_ONCE);
  for (;;) {
    const { rows, more } = await reading;
    const last = rows.at(-1);
    if (last === undefined) return;
    if (more) {
      reading = readLogPage(db, runId, last.seq, EVENTS_AT_ONCE);
      // No one may come to wait for it.
      reading.catch(() => undefined);
    }
    yield* fewAtATime(rows, signal);
    if (!more) return;
  }
}

/** A list, a few items at a time. */
export async function* fewAtATime<T>(all: readonly T[], signal?: AbortSignal): AsyncGenerator<readonly T[], void> {
  for (let at = 0; at < all.length; at += EVENTS_PER_BREATH) {
    yield all.slice(at, at + EVENTS_PER_BREATH);
    await breathe(signal);
  }
}

/** A log that is being verified against what its run claims. */
export class LogReading {
  readonly #row: ClaimRow;
  readonly #check: LogCheck;
  readonly #from: number;
  readonly #to: number;
  /** States that are kept of the log and were not come to yet, oldest first. */
  readonly #folds: KeptFold[];
  readonly #states: { fit: number; readonly wrong: number[] } = { fit: 0, wrong: [] };
  readonly #copies: StoredCopies | null;
  readonly #facts: LoggedFacts | null;
  #broken: Broken | null = null;
  #beyond = false;

  /**
   * `to`: the last event that is looked at; left out: all of them, and how the log ends. `since`: where it begins. `copies`: the rows that
   * are compared with a log that is read as a whole.
   */
  constructor(
    row: ClaimRow,
    {
      to,
      since,
      folds = [],
      copies = null,
    }: {
      readonly to?: number;
      readonly since?: Head;
      readonly folds?: readonly KeptFold[];
      readonly copies?: StoredCopies | null;
    } = {},
  ) {
    this.#row = row;
    const { id, tenant, key: runKey } = row;
    // Of an erased run the log says nothing any more.
    const compares = since === undefined && copies !== null && runKey !== null && (to ?? row.seq) === row.seq;
    this.#copies = compares ? copies : null;
    this.#facts = compares ? new LoggedFacts() : null;
    this.#check =
      since === undefined ? LogCheck.fromStart(id, tenant, runKey, this.#facts) : new LogCheck({ head: since, runKey });
    this.#from = this.#check.head.seq + 1;
    this.#to = to ?? row.seq ?? 0;
    this.#folds = [...folds];
  }

  /** Takes the next events. False: more are not needed. */
  take(events: readonly LoggedEvent[]): boolean {
    for (const event of events) {
      if (this.#check.head.seq >= this.#to) {
        this.#beyond = true;
        return false;
      }
      this.#broken = this.#check.next(event);
      if (this.#broken !== null) return false;
      this.#compareFold();
    }
    return true;
  }

  #compareFold(): void {
    const [fold] = this.#folds;
    if (fold === undefined || fold.seq > this.#check.head.seq) return;
    this.#folds.shift();
    if (fold.seq === this.#check.head.seq && fits(fold, this.#check.head)) this.#states.fit += 1;
    else this.#states.wrong.push(fold.seq);
  }

  /** What the events that were taken make of the log. Throws `run_unknown` when the run was removed meanwhile. */
  async report(db: Knex): Promise<VerifyReport> {
    const payloads = this.#row.key === null ? 'erased' : 'checked';
    const wrong = this.#broken ?? (await this.#atEnd(db));
    const rows = wrong === null || wrong.invariant === 'run_row' ? await this.#falseRows(db) : [];
    return reportOn(this.#check, this.#from, wrong, { payloads, states: this.#states, rows });
  }

  async #falseRows(db: Knex): Promise<readonly FoundRow[]> {
    if (this.#copies === null || this.#facts === null) return [];
    const found: FoundRow[] = falseRows(this.#facts, this.#row.id, this.#copies, FALSE_ROWS_MAX);
    found.push(...(await this.#falseMemory(db, this.#facts)).slice(0, FALSE_ROWS_MAX - found.length));
    const waits = new LoggedWaits(this.#facts);
    if (waits.isEmpty) return found;
    for await (const kept of keptWaits(db, this.#row.id)) {
      if (found.length >= FALSE_ROWS_MAX) break;
      const fault = waits.faultOf(kept);
      if (fault !== null) found.push(fault);
    }
    return found;
  }

  /** A change or an erasure between two statements looks like one by someone else. */
  async #falseMemory(db: Knex, facts: LoggedFacts): Promise<readonly FoundRow[]> {
    const found = await falseMemoryOfRun(db, this.#row.id, facts);
    return found.length === 0 ? found : await falseMemoryOfRun(db, this.#row.id, facts);
  }

  async #atEnd(db: Knex): Promise<Broken | null> {
    const { head } = this.#check;
    if (head.seq === this.#to && this.#to !== (this.#row.seq ?? 0)) return null;
    const wrong = this.#endFault(this.#beyond && !(await hasGrown(db, this.#row)));
    if (wrong === null) return null;
    if ((await readClaim(db, this.#row.tenant, this.#row.id)) !== undefined) return { seq: head.seq + 1, ...wrong };
    throw new HoldfastError('run_unknown', `The run ${this.#row.id} was removed meanwhile.`);
  }

  #endFault(beyond: boolean): Fault | null {
    const { seq, hash, state, state_hash: stateHash, status, output, error, cancel_reason: cancelReason } = this.#row;
    if (seq === null || hash === null || state === null || stateHash === null)
      return fault('log_end', 'the head of the log was removed');
    const erased = this.#row.key === null;
    // Who takes a key away without erasing the run hides what was changed.
    if (erased && this.#row.erased_at === null)
      return fault('payload_hash', 'the key of the payloads was removed, and no one erased the run');
    return (
      endFault(this.#check, { seq, hash, state, stateHash }, beyond, erased) ??
      rowFault(this.#check, { status, output, error, cancelReason }, erased)
    );
  }
}

/** A run that goes on writes more than its head had when it was read. */
const hasGrown = async (db: Knex, row: ClaimRow): Promise<boolean> =>
  ((await readClaim(db, row.tenant, row.id))?.seq ?? 0) > (row.seq ?? 0);
