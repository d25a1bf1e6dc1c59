import { z } from 'zod';
import type { TaskDefinition } from './task-definition.js';

const weight = z.number().min(0).max(1000).default(0);

/** In which order tasks of a tenant begin, where who submits them does not say. */
export const schedulingConfig = z.strictObject({
  weights: z.strictObject({
    /** Points that an expert task comes earlier than an easy one. Default 0. */
    difficulty: weight,
    /** Points that a task of a category without any comes earlier than one of the category with the most. Default 0. */
    category: weight,
    /** Points that a task comes earlier for each hour that it has waited longer. Default 1. */
    age: z.number().min(0).max(10).default(1),
  }),
});
export type SchedulingConfig = z.input<typeof schedulingConfig>;
export type Scheduling = z.infer<typeof schedulingConfig>;

const DIFFICULTY: { readonly [D in TaskDefinition['difficulty']]: number } = {
  ...{ easy: 0, medium: 1 / 3, hard: 2 / 3, expert: 1 },
};
/** More than what two weights take away. */
const BASE = 2001;
const SINCE = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;
const LAST = 1_000_000;

/**
 * The priority of a task, from 1 to 1,000,000; lower begins earlier. A task gains the same for each hour that it waits as every other one, so that
 * which comes first does not change while they wait: what counts of the age is when a task was submitted. `counts`: tasks of the tenant, by category.
 */
export function priorityOf(
  { weights }: Scheduling,
  { difficulty, category }: Pick<TaskDefinition, 'difficulty' | 'category'>,
  counts: ReadonlyMap<string, number>,
  nowMs: number,
): number {
  const most = Math.max(0, ...counts.values());
  const rare = most === 0 ? 0 : 1 - (counts.get(category) ?? 0) / most;
  const hours = Math.max(0, nowMs - SINCE) / HOUR_MS;
  const points = weights.age * hours - weights.difficulty * DIFFICULTY[difficulty] - weights.category * rare;
  return Math.min(LAST, Math.max(1, Math.round(BASE + points)));
}
