import type { Knex } from 'knex';
import { priorityOf, type Scheduling } from '../../core/tasks/scheduling.js';
import type { TaskDefinition } from '../../core/tasks/task-definition.js';
import { countCategories } from '../../storage/tasks/tasks.js';

/** Tasks of a tenant are counted again after so long; meanwhile those that are submitted here are added. */
const COUNTED_FOR_MS = 10_000;

/** Gives tasks the priority that the configuration says; null: it says nothing. */
export class TaskOrder {
  readonly #scheduling: Scheduling | null;
  readonly #counted = new Map<string, { readonly atMs: number; readonly counts: Map<string, number> }>();

  constructor(scheduling: Scheduling | null) {
    this.#scheduling = scheduling;
  }

  async priority(
    knex: Knex,
    tenant: string,
    task: Pick<TaskDefinition, 'difficulty' | 'category'>,
    nowMs: number,
  ): Promise<number | null> {
    if (this.#scheduling === null) return null;
    const counts =
      this.#scheduling.weights.category === 0 ? new Map<string, number>() : await this.#counts(knex, tenant, nowMs);
    const priority = priorityOf(this.#scheduling, task, counts, nowMs);
    counts.set(task.category, (counts.get(task.category) ?? 0) + 1);
    return priority;
  }

  async #counts(knex: Knex, tenant: string, nowMs: number): Promise<Map<string, number>> {
    const known = this.#counted.get(tenant);
    if (known !== undefined && Math.abs(nowMs - known.atMs) < COUNTED_FOR_MS) return known.counts;
    const counts = await countCategories(knex, tenant);
    this.#counted.set(tenant, { atMs: nowMs, counts });
    return counts;
  }
}
