import type { Knex } from 'knex';
import { canonical } from '../core/json.js';
import { type RunEnd, resultOf } from '../core/trajectory-result.js';
import { lastReward } from './rewards.js';

type EndedRun = RunEnd & { readonly runId: string };

/**
 * Gives a task the end and the result of its run, in the transaction that ends the run and after its reward is written. A run that is
 * not the present one of its task, as a fork, changes nothing.
 */
export const endTask = (trx: Knex.Transaction, run: EndedRun): Promise<void> =>
  change(trx, run, { status: run.status, completed_at: trx.fn.now() });

/** What somebody said of a run that is over is said of its task. */
export const judgeTask = (trx: Knex.Transaction, run: EndedRun): Promise<void> => change(trx, run, {});

async function change(trx: Knex.Transaction, { runId, ...end }: EndedRun, more: object): Promise<void> {
  const judged = await lastReward(trx, runId);
  const result = resultOf(end, judged);
  if (result === null) return;
  await trx('holdfast.tasks')
    .where({ run_id: runId })
    .update({
      ...more,
      ...{ result_type: result.type, result: canonical(result), reward: judged?.reward ?? null },
      ...{ verification_passed: judged?.verificationPassed ?? null, updated_at: trx.fn.now() },
    });
}
