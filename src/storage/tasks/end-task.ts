import type { Knex } from 'knex';
import { canonical } from '../../core/json.js';
import { isOfItsPlace, isRetried, retryAfterMs, taskRetries } from '../../core/tasks/task-retries.js';
import {
  type RunEnd,
  resultOf,
  type TrajectoryResult,
  trajectoryResult,
} from '../../core/trajectories/trajectory-result.js';
import { readJson } from '../database/stored-json.js';
import { lastReward } from './rewards.js';
import { recordTaskEnded } from './task-events.js';
import type { TaskRow } from './tasks.js';

type EndedRun = RunEnd & { readonly runId: string };

/**
 * Gives a task the end and the result of its run, in the transaction that ends the run and after its reward is written; or the time of
 * its next attempt, where another one may not fail by the same. A run that is not the present one of its task, as a fork, changes nothing.
 */
export const endTask = (trx: Knex.Transaction, run: EndedRun): Promise<void> =>
  change(trx, run, { status: run.status, completed_at: trx.fn.now() }, true);

/** What someone said of a run that is over is said of its task, unless that is to be tried again. */
export const judgeTask = (trx: Knex.Transaction, run: EndedRun): Promise<void> => change(trx, run, {}, false);

async function change(trx: Knex.Transaction, { runId, ...end }: EndedRun, more: object, ends: boolean): Promise<void> {
  const judged = await lastReward(trx, runId);
  const result = resultOf(end, judged);
  if (result === null) return;
  if (ends && (await tryAgain(trx, runId, result))) return;
  const [task]: Pick<TaskRow, 'id' | 'tenant' | 'attempts' | 'status'>[] = await trx('holdfast.tasks')
    .where({ run_id: runId })
    .whereRaw(ends ? `status = 'open'` : `status <> 'open'`)
    .update({
      ...more,
      ...{ result_type: result.type, result: canonical(result), reward: judged?.reward ?? null },
      ...{ verification_passed: judged?.verificationPassed ?? null, updated_at: trx.fn.now() },
    })
    .returning(['id', 'tenant', 'attempts', 'status']);
  if (task === undefined || !ends) return;
  const how = { attempt: task.attempts, retried: task.status === 'open', result, reward: judged?.reward ?? null };
  await recordTaskEnded(trx, { ...task, runId }, how);
}

/** Leaves a task open for its next attempt. False: there is none. */
async function tryAgain(trx: Knex.Transaction, runId: string, result: TrajectoryResult): Promise<boolean> {
  if (result.type !== 'error') return false;
  if (!isRetried(result.code) && !(isOfItsPlace(result.code) && (await neverCameToWork(trx, runId)))) return false;
  const task: TaskRow | undefined = await trx('holdfast.tasks').where({ run_id: runId }).forUpdate().first();
  if (task === undefined || task.status !== 'open') return false;
  const { id, attempts: attempt } = task;
  const terms = readJson(taskRetries, task.retries, { table: 'tasks', row: task.id, column: 'retries' });
  const afterMs = retryAfterMs(terms, { taskId: id, attempt: attempt - task.attempts_before });
  if (afterMs === null) return false;
  const retryAt = trx.raw(`clock_timestamp() + ? * interval '1 ms'`, [afterMs]);
  await trx('holdfast.tasks').where({ id }).update({ retry_at: retryAt, updated_at: trx.fn.now() });
  await recordTaskEnded(trx, { ...task, runId }, { attempt, retried: true, result, reward: null });
  return true;
}

/** Whether an attempt that was to go on from files of another one did not come to work with them. */
const neverCameToWork = async (trx: Knex.Transaction, runId: string): Promise<boolean> => {
  const own = { run_id: runId, purpose: 'run', source_purpose: 'snapshot', started_at: null };
  return (await trx('holdfast.environments').where(own).first('run_id')) !== undefined;
};

/** How the task of a run ended; null: the run is not its last one, or it goes on. */
export async function endedTask(
  db: Knex,
  runId: string,
): Promise<{ readonly result: string; readonly code: string | null; readonly seconds: number } | null> {
  const row: { result: string | null; seconds: string } | undefined = await db('holdfast.tasks')
    .where({ run_id: runId })
    .whereNot({ status: 'open' })
    .first('result', db.raw('extract(epoch from completed_at - created_at)::text as seconds'));
  if (row === undefined || row.result === null) return null;
  const place = { table: 'tasks', row: `of run ${runId}`, column: 'result' };
  const result = readJson(trajectoryResult, row.result, place);
  const code = result.type === 'error' ? result.code : null;
  return { result: result.type, code, seconds: Math.max(0, Number(row.seconds)) };
}
