import type { Knex } from 'knex';
import type { Check } from '../../core/ops/health.js';
import { namedTrouble, tryToKeep } from '../../storage/database/database-trouble.js';
import { within } from '../../storage/database/timing.js';

/** However often one asks: this many milliseconds lie between two tries. */
const TRY_EVERY_MS = 5000;
const WITHIN_MS = 1000;
const REFUSES: ReadonlySet<string> = new Set(['database_full', 'database_read_only']);

/**
 * Whether the database keeps what it is given: one that has no room, or takes no writes, answers questions as always. One try serves all
 * who ask. A try that takes long, or fails otherwise, changes nothing of what was found before.
 */
export class WriteWatch {
  readonly #knex: Knex;
  #found: Check = { status: 'pass' };
  #triedAt = Number.NEGATIVE_INFINITY;
  #current: Promise<void> | null = null;

  constructor(knex: Knex) {
    this.#knex = knex;
  }

  /** Answers within a second. */
  async look(): Promise<Check> {
    if (this.#current === null && performance.now() - this.#triedAt >= TRY_EVERY_MS) {
      this.#triedAt = performance.now();
      this.#current = this.#try().finally(() => {
        this.#current = null;
      });
    }
    if (this.#current !== null) await within(WITHIN_MS, this.#current);
    return this.#found;
  }

  async #try(): Promise<void> {
    try {
      await tryToKeep(this.#knex);
      this.#found = { status: 'pass' };
    } catch (error) {
      const named = namedTrouble(error);
      if (named !== null && REFUSES.has(named.code)) this.#found = { status: 'fail', detail: named.message };
    }
  }
}
