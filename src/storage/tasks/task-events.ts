import type { Knex } from 'knex';
import { canonical } from '../../core/json.js';
import type { TrajectoryResult } from '../../core/trajectories/trajectory-result.js';
import { appendSystemEvent } from '../ops/system-events.js';

/** What of a task is told, beside its rows. */

export interface ToldTask {
  readonly id: string;
  readonly tenant: string;
  readonly runId: string;
}

export const recordTaskSubmitted = (
  trx: Knex.Transaction,
  { id: taskId, tenant, runId, name, version }: ToldTask & { readonly name: string; readonly version: string },
): Promise<void> => appendSystemEvent(trx, { kind: 'task.submitted', tenant, taskId, runId, data: { name, version } });

/**
 * Says that a worker has begun with the present run of a task. To be called before that is recorded: the one that begins again says it
 * again, which under its key writes nothing.
 */
export async function recordTaskStarted(db: Knex, runId: string, worker: string): Promise<void> {
  await db.raw(
    `insert into holdfast.system_events (tenant, kind, key, task_id, run_id, worker_id, data)
     select t.tenant, k.kind, k.kind || ':' || t.run_id, t.id, t.run_id, ?, json_build_object('attempt', t.attempts)::text
       from holdfast.tasks t, (values ('task.assigned'), ('task.started')) k(kind) where t.run_id = ?
      order by k.kind on conflict do nothing`,
    [worker, runId],
  );
}

/** Says that a run at work made no progress, of the task that it executes if there is one. Gives the id of that; null: there is none. */
export async function recordTaskStalled(
  db: Knex,
  runId: string,
  data: { readonly seconds: number; readonly ended: boolean },
): Promise<string | null> {
  const told: { rows: { task_id: string | null }[] } = await db.raw(
    `insert into holdfast.system_events (tenant, kind, task_id, run_id, data)
     select tenant, 'run.stalled', task_id, id, ? from holdfast.runs where id = ? returning task_id`,
    [canonical(data), runId],
  );
  return told.rows[0]?.task_id ?? null;
}

/** `retried`: another run of it follows. */
export function recordTaskEnded(
  trx: Knex.Transaction,
  { id: taskId, tenant, runId }: ToldTask,
  {
    attempt,
    retried,
    result,
    reward,
  }: {
    readonly attempt: number;
    readonly retried: boolean;
    readonly result: TrajectoryResult;
    readonly reward: number | null;
  },
): Promise<void> {
  const of = { tenant, taskId, runId };
  if (result.type !== 'error' && !retried)
    return appendSystemEvent(trx, {
      ...{ kind: 'task.completed', ...of },
      data: { attempt, result: result.type, reward },
    });
  const code = result.type === 'error' ? result.code : result.type;
  return appendSystemEvent(trx, { kind: 'task.failed', ...of, data: { attempt, code, retried } });
}
