import type { Knex } from 'knex';

export interface TimerRow {
  id: string;
  run_id: string;
  tenant: string;
  /** `wait_due`: the time that a call waits for has come. */
  kind: 'interruption_expires' | 'wait_due';
  target: string;
  due_at: Date;
}

const timers = (db: Knex) => db<TimerRow>('holdfast.timers');

export async function insertTimer(trx: Knex.Transaction, timer: TimerRow): Promise<void> {
  await timers(trx).insert(timer).onConflict('id').ignore();
}

/** What is due, oldest first. Whoever acts on one deletes it in the same transaction. */
export const dueTimers = async (db: Knex, now: Date, limit: number): Promise<TimerRow[]> =>
  timers(db).where('due_at', '<=', now).orderBy('due_at').limit(limit);
