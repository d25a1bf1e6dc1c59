import type { Knex } from 'knex';
import { canonical } from '../../core/json.js';
import type { TaskAttempt } from '../../core/tasks/task.js';
import type { TaskRetries } from '../../core/tasks/task-retries.js';
import { type Columns, isRowChanged, shownLegibly, TIME, TIME_OR_NULL } from '../database/legible-rows.js';
import { appendSystemEvent } from '../ops/system-events.js';
import { errorOf, type RunRow } from '../runs/run-row.js';
import { runs } from '../runs/runs.js';
import { type TaskRow, tasks } from './tasks.js';

const SHOWN_MOST = 100;

/** The natural key of the event that names the attempt which this one goes on from. It stays when its payload is erased. */
export const ATTEMPT = 'attempt';

type AttemptRow = Pick<RunRow, 'id' | 'status' | 'error' | 'created_at' | 'completed_at'>;

/** The runs that executed a task, the newest first. What someone forked of them is no attempt. */
export async function attemptsOf(db: Knex, taskId: string, most = SHOWN_MOST): Promise<TaskAttempt[]> {
  const rows: AttemptRow[] = await runs(db)
    .where({ task_id: taskId, parent_run_id: null })
    .where((one) =>
      one
        .whereNull('forked_from_run_id')
        .orWhereExists((named) =>
          named.from('holdfast.events as e').whereRaw('e.run_id = runs.id and e.key = ?', [ATTEMPT]),
        ),
    )
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(most)
    .select('id', 'status', 'error', 'created_at', 'completed_at');
  return rows.map(attemptOf);
}

const TIMES: Columns<AttemptRow> = { created_at: TIME, completed_at: TIME_OR_NULL };

/** An attempt, also where its row cannot be read: that is its error then. */
const attemptOf = (row: AttemptRow): TaskAttempt =>
  shownLegibly(row, { table: 'runs', id: row.id, columns: TIMES }, (one) => ({
    ...{ runId: one.id, status: one.status, error: shownError(one) },
    ...{ createdAt: one.created_at.toISOString(), completedAt: one.completed_at?.toISOString() ?? null },
  })).view;

function shownError(row: AttemptRow): TaskAttempt['error'] {
  try {
    return errorOf(row);
  } catch (error) {
    if (isRowChanged(error)) return error.view();
    throw error;
  }
}

/** So many seconds an attempt that is due waits for the files of the one before, which may be kept at this moment. */
const KEPT_WITHIN_S = 60;

/** Whether files of the run that a task stands on are to be kept, and are not yet: they are before its container goes. */
const FILES_ARE_KEPT = `exists (select 1 from holdfast.environments e
  where e.run_id = tasks.run_id and e.purpose = 'run' and e.started_at is not null and e.state <> 'gone'
    and strpos(e.spec, '"snapshots":{') > 0 and strpos(e.spec, '"keepHours":0,') = 0)`;

/** Tasks of these agents whose next attempt is due, with the runs that they stand on. */
export const tasksToRetry = (
  db: Knex,
  agents: readonly string[],
  { except, limit }: { readonly except: readonly string[]; readonly limit: number },
): Promise<Pick<TaskRow, 'id' | 'run_id' | 'tenant'>[]> =>
  tasks(db)
    .whereRaw('retry_at <= clock_timestamp()')
    .whereRaw(
      `(retry_at <= clock_timestamp() - ? * interval '1 s' or attempts = attempts_before or not ${FILES_ARE_KEPT})`,
      [KEPT_WITHIN_S],
    )
    .whereIn('agent', [...agents])
    .whereRaw('id <> all(?::text[])', [[...except]])
    .orderBy('retry_at')
    .limit(limit)
    .select('id', 'run_id', 'tenant');

/** Puts a task on its next run. Under the lock of its row. */
export async function nextAttempt(trx: Knex.Transaction, id: string, runId: string): Promise<void> {
  const attempts = trx.raw('attempts + 1') as unknown as number;
  const now = trx.fn.now() as unknown as Date;
  await tasks(trx).where({ id }).update({ run_id: runId, attempts, retry_at: null, updated_at: now });
}

/** Puts a task back that is over: its next attempt is due now, on these terms, which count again. Under the lock of its row. */
export async function restoreItems(trx: Knex.Transaction, task: TaskRow, retries: TaskRetries): Promise<void> {
  const { id, tenant, run_id: runId, attempts } = task;
  const now = trx.fn.now() as unknown as Date;
  const requeues = task.requeues + 1;
  await tasks(trx)
    .where({ id })
    .update({
      ...{ status: 'open', result_type: null, result: null, reward: null, verification_passed: null },
      ...{ completed_at: null, updated_at: now, retry_at: now },
      ...{ retries: canonical({ ...retries }), requeues, attempts_before: attempts },
    });
  await appendSystemEvent(trx, { kind: 'task.requeued', tenant, taskId: id, runId, data: { attempts, requeues } });
}
