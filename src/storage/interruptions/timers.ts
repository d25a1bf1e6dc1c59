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

export interface DueTimer {
  readonly id: string;
  readonly runId: string;
  readonly tenant: string;
  /** The interruption that it settles. */
  readonly target: string;
}

export const isAnyDue = async (db: Knex, now: Date): Promise<boolean> =>
  (await timers(db).where('due_at', '<=', now).first('id')) !== undefined;

interface Due {
  readonly now: Date;
  /** Timers that are left out. */
  readonly except: readonly string[];
  /** Only those that settle these interruptions; null: all. */
  readonly of: readonly string[] | null;
  readonly limit: number;
}

/**
 * What is due, oldest first, with the rows of its runs held, so that no other transaction settles it. What belongs to a run whose row
 * someone else holds is left out: nothing is waited for here. Acting on a timer deletes it in the same transaction.
 */
export async function takeDue(trx: Knex.Transaction, { now, except, of, limit }: Due): Promise<readonly DueTimer[]> {
  const { rows }: { rows: DueTimer[] } = await trx.raw(
    `select t.id, t.run_id as "runId", t.tenant, t.target
       from holdfast.timers t join holdfast.runs r on r.id = t.run_id
      where t.due_at <= ? and t.id <> all(?)${of === null ? '' : ' and t.target = any(?)'}
      order by t.due_at limit ?
        for no key update of r skip locked`,
    [now, [...except], ...(of === null ? [] : [[...of]]), limit],
  );
  return rows;
}

/** Sets timers to the time that the rows of their interruptions say. */
export async function correctTimers(
  trx: Knex.Transaction,
  rows: readonly { readonly id: string; readonly expires_at: Date | null }[],
): Promise<void> {
  for (const { id, expires_at: at } of rows)
    if (at !== null) await timers(trx).where({ target: id }).update({ due_at: at });
}

/**
 * Gives a timer back to what is overdue and has none that is due: someone has removed or moved it in the database. `status` and time are those
 * of an index that has what waits alone.
 */
export async function restoreTimers(db: Knex, now: Date, limit: number): Promise<void> {
  await db.raw(
    `insert into holdfast.timers (id, run_id, tenant, kind, target, due_at)
     select i.id, i.run_id, i.tenant, case when i.wait is null then 'interruption_expires' else 'wait_due' end, i.id, i.expires_at
       from holdfast.interruptions i
      where i.status = 'pending' and coalesce(i.expires_at, '9999-12-31 00:00:00+00'::timestamptz) <= ?
        and not exists (select from holdfast.timers t where t.target = i.id and t.due_at <= ?)
      limit ?
     on conflict (id) do update set target = excluded.target, run_id = excluded.run_id, due_at = excluded.due_at`,
    [now, now, limit],
  );
}

export async function dropTimers(trx: Knex.Transaction, ids: readonly string[]): Promise<void> {
  if (ids.length > 0)
    await timers(trx)
      .whereIn('id', [...ids])
      .delete();
}
