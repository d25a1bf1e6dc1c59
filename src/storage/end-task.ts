import type { Knex } from 'knex';
import { canonical } from '../core/json.js';
import { type RunEnd, resultOf, trajectoryResult } from '../core/trajectory-result.js';
import { lastReward } from './rewards.js';
import { tellEnded } from './task-events.js';
import type { TaskRow } from './tasks.js';

type EndedRun = RunEnd & { readonly runId: string };

/**
 * Gives a task the end and the result of its run, in the transaction that ends the run and after its reward is written. A run that is
 * not the present one of its task, as a fork, changes nothing.
 */
export const endTask = (trx: Knex.Transaction, run: EndedRun): Promise<void> =>
  change(trx, run, { status: run.status, completed_at: trx.fn.now() }, true);

/** What somebody said of a run that is over is said of its task. */
export const judgeTask = (trx: Knex.Transaction, run: EndedRun): Promise<void> => change(trx, run, {}, false);

async function change(trx: Knex.Transaction, { runId, ...end }: EndedRun, more: object, ends: boolean): Promise<void> {
  const judged = await lastReward(trx, runId);
  const result = resultOf(end, judged);
  if (result === null) return;
  const [task]: Pick<TaskRow, 'id' | 'tenant' | 'attempts' | 'status'>[] = await trx('holdfast.tasks')
    .where({ run_id: runId })
    .update({
      ...more,
      ...{ result_type: result.type, result: canonical(result), reward: judged?.reward ?? null },
      ...{ verification_passed: judged?.verificationPassed ?? null, updated_at: trx.fn.now() },
    })
    .returning(['id', 'tenant', 'attempts', 'status']);
  if (task === undefined || !ends) return;
  const how = { attempt: task.attempts, retried: task.status === 'open', result, reward: judged?.reward ?? null };
  await tellEnded(trx, { ...task, runId }, how);
}

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
  const result = trajectoryResult.parse(JSON.parse(row.result));
  const code = result.type === 'error' ? result.code : null;
  return { result: result.type, code, seconds: Math.max(0, Number(row.seconds)) };
}
