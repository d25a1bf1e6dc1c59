import type { Knex } from 'knex';
import type { RunLimits } from '../../core/runs/run.js';

interface DeadlineRow {
  run_id: string;
  tenant: string;
  ends_at: Date;
}

const deadlines = (db: Knex) => db<DeadlineRow>('holdfast.run_deadlines');

/** Says when the time of a run is over, in the transaction that makes the run. By the clock of the database, as its start is. */
export async function insertDeadline(
  trx: Knex,
  { id, tenant, limits }: { readonly id: string; readonly tenant: string; readonly limits: RunLimits },
): Promise<void> {
  if (limits.maxElapsedMs === undefined) return;
  const ends = trx.raw("now() + ? * interval '1 millisecond'", [limits.maxElapsedMs]) as unknown as Date;
  await deadlines(trx).insert({ run_id: id, tenant, ends_at: ends });
}

/**
 * Says until when a worker may keep the artifacts of runs that were cancelled while they waited. Their own time no longer counts. By the
 * clock of the database.
 */
export async function setKeepingDeadlines(
  db: Knex,
  runs: readonly { readonly id: string; readonly tenant: string }[],
  withinMs: number,
): Promise<void> {
  if (runs.length === 0) return;
  const ends = db.raw("now() + ? * interval '1 millisecond'", [withinMs]) as unknown as Date;
  await deadlines(db)
    .insert(runs.map(({ id, tenant }) => ({ run_id: id, tenant, ends_at: ends })))
    .onConflict('run_id')
    .merge(['ends_at']);
}

/** A run whose row says that its time is over. */
export interface OverdueRun {
  readonly id: string;
  readonly limits: string;
  readonly tenant: string;
  /** For so long it exists, in milliseconds. */
  readonly ageMs: number;
  /** For so long its time is over, in milliseconds. */
  readonly lateMs: number;
  /** It was cancelled while it waited, and no worker has kept its artifacts. */
  readonly isCancelled: boolean;
}

/** Forgets the times of runs that are over, and gives some of those that are not: the ones that were to end first come first. */
export async function overdueRuns(db: Knex, except: readonly string[], limit: number): Promise<readonly OverdueRun[]> {
  const {
    rows,
  }: { rows: { id: string; tenant: string; limits: string; age: string; late: string; asked: boolean }[] } =
    await db.raw(
      `with due as (
       select r.id, r.tenant, r.limits, extract(epoch from now() - r.created_at) * 1000 as age,
              extract(epoch from now() - d.ends_at) * 1000 as late, r.cancel_requested_at is not null as asked,
              r.status in ('completed', 'failed', 'cancelled') as over
         from holdfast.run_deadlines d join holdfast.runs r on r.id = d.run_id
        where d.ends_at <= now() and d.run_id <> all(:except::text[])
          and (r.status in ('completed', 'failed', 'cancelled') or r.cancel_requested_at is null or r.status = 'queued')
        order by d.ends_at limit :limit),
     gone as (delete from holdfast.run_deadlines d using due where d.run_id = due.id and due.over)
     select id, tenant, limits, age, late, asked from due where not over`,
      { except: [...except], limit },
    );
  return rows.map(({ id, tenant, limits, age, late, asked }) => ({
    ...{ id, tenant, limits, ageMs: Number(age), lateMs: Number(late), isCancelled: asked },
  }));
}

/** For how long a run exists, in milliseconds, by the clock of the database. */
export async function ageOfRun(db: Knex, id: string): Promise<number> {
  const { rows }: { rows: { age: string }[] } = await db.raw(
    'select extract(epoch from now() - created_at) * 1000 as age from holdfast.runs where id = ?',
    [id],
  );
  return Number(rows[0]?.age ?? 0);
}

export const timeOverText = (maxElapsedMs: number): string =>
  `It had ${maxElapsedMs} ms from its start (maxElapsedMs).`;

/** The limits of a run say that its time is not over: its row was changed, and says so again. */
export async function correctDeadline(db: Knex, runId: string, afterMs: number | undefined): Promise<void> {
  const row = deadlines(db).where({ run_id: runId });
  if (afterMs === undefined) await row.delete();
  else
    await row.update({
      ends_at: db.raw("(select created_at from holdfast.runs where id = ?) + ? * interval '1 millisecond'", [
        runId,
        afterMs,
      ]) as unknown as Date,
    });
}
