import type { Knex } from 'knex';
import type { Summary } from '../../core/ops/stats.js';
import { within } from '../../storage/database/timing.js';
import { readSummary } from '../../storage/tasks/task-stats.js';

/** However often one asks, the database is looked at no more often for each tenant. */
const EVERY_MS = 5000;
/** A look that takes longer is not waited for. */
const WITHIN_MS = 4000;
/** More tenants than ask at once. */
const REMEMBERED = 1000;

interface Look {
  readonly found: Promise<Summary | null>;
  /** When it was over; null: it is under way. */
  endedAt: number | null;
}

/** What is summed up over many rows of a tenant, by one look for all who ask at once and shortly after. */
export class Summaries {
  readonly #knex: Knex;
  readonly #known = new Map<string, Look>();

  constructor(knex: Knex) {
    this.#knex = knex;
  }

  /** Null: the database did not say in time. */
  async of(tenant: string): Promise<Summary | null> {
    const known = this.#known.get(tenant);
    if (known !== undefined && (known.endedAt === null || performance.now() - known.endedAt < EVERY_MS))
      return known.found;
    if (this.#known.size >= REMEMBERED) this.#known.clear();
    const look: Look = { found: this.#look(tenant), endedAt: null };
    this.#known.set(tenant, look);
    const found = await look.found;
    look.endedAt = performance.now();
    return found;
  }

  async #look(tenant: string): Promise<Summary | null> {
    const found: Summary[] = [];
    const read = readSummary(this.#knex, tenant);
    await within(
      WITHIN_MS,
      read.then((summary) => void found.push(summary)),
    ).catch(() => undefined);
    return found[0] ?? null;
  }
}
