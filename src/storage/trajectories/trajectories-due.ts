import type { Knex } from 'knex';

/** With the end of a run, in its statement: what it was is to be read from its log, by the code that has the time. */
export const trajectoriesDue = (db: Knex, runIds: readonly string[]): Knex.Raw =>
  db.raw(
    `insert into holdfast.trajectories_due (run_id, tenant)
     select id, tenant from holdfast.runs where id = any(?) on conflict do nothing`,
    [[...runIds]],
  );

/** How long who took one has it for itself, times the tries: one that fails again and again holds up no other. */
const TRY_AGAIN_SECONDS = 60;

/** A run, and how often its trajectory was begun, this time included. */
export interface DueTrajectory {
  readonly runId: string;
  readonly tenant: string;
  readonly tries: number;
}

/** Takes runs whose trajectories are due for longest, in the order in which they were started; what is not done in time is due again. */
export async function takeDue(db: Knex, limit: number): Promise<readonly DueTrajectory[]> {
  const { rows }: { rows: { run_id: string; tries: number }[] } = await db.raw(
    `update holdfast.trajectories_due
        set tries = tries + 1, due_at = now() + (tries + 1) * interval '${TRY_AGAIN_SECONDS} seconds'
      where run_id in (select run_id from holdfast.trajectories_due where due_at <= now()
                        order by due_at limit ? for update skip locked)
      returning run_id, tries`,
    [limit],
  );
  if (rows.length === 0) return [];
  const taken: { id: string; tenant: string }[] = await db('holdfast.runs')
    .whereRaw('id = any(?)', [rows.map((row) => row.run_id)])
    .orderBy(['created_at', 'id'])
    .select('id', 'tenant');
  const tries = new Map(rows.map((row) => [row.run_id, row.tries]));
  return taken.map(({ id, tenant }) => ({ runId: id, tenant, tries: tries.get(id) ?? 1 }));
}

/** Runs of a tenant that are due, no matter who has taken them, if their logs are short. */
export async function shortDue(
  db: Knex,
  tenant: string,
  { limit, maxEvents, maxTries }: { readonly limit: number; readonly maxEvents: number; readonly maxTries: number },
): Promise<readonly string[]> {
  const rows: { run_id: string }[] = await db('holdfast.trajectories_due as d')
    .join('holdfast.run_heads as h', 'h.run_id', 'd.run_id')
    .where({ 'd.tenant': tenant })
    .where('h.seq', '<=', maxEvents)
    .where('d.tries', '<=', maxTries)
    .join('holdfast.runs as r', 'r.id', 'd.run_id')
    .orderBy(['d.due_at', 'r.created_at', 'r.id'])
    .limit(limit)
    .select('d.run_id');
  return rows.map((row) => row.run_id);
}

export const isDone = (trx: Knex, runId: string) => trx('holdfast.trajectories_due').where({ run_id: runId }).delete();
