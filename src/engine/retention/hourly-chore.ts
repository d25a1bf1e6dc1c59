import { putOffChore, takeChore } from '../../storage/database/chores.js';
import { maintenanceWork, ofAll } from '../concurrency/repeated-work.js';
import type { EngineContext } from '../engine-context.js';

const EVERY_MS = 3_600_000;
/** For so long a worker has a chore: one that dies with it holds it up no longer. */
export const TAKEN_MS = 60_000;

interface HourlyChore {
  readonly chore: string;
  /** As it is counted and told. */
  readonly name: string;
  readonly isStopping: () => boolean;
}

/** Does a chore of all tenants if it is due and no other worker has it. It is due again in an hour, or at once where it was stopped. */
export async function hourlyChore(
  context: EngineContext,
  { chore, name, isStopping }: HourlyChore,
  work: () => Promise<void>,
): Promise<void> {
  const { knex } = context.stepContext;
  if (!(await takeChore(knex, chore, TAKEN_MS))) return;
  await maintenanceWork(context, ofAll(name), work);
  await putOffChore(knex, chore, isStopping() ? 0 : EVERY_MS);
}
