import { isoNow } from '../../../steps/context.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import type { Page } from '../../core/page.js';
import {
  type GiveReward,
  giveReward,
  isSameJudgement,
  type RewardView,
  rewardDataOf,
} from '../../core/tasks/reward.js';
import { resultOf } from '../../core/trajectories/trajectory-result.js';
import { legibleRows } from '../../storage/database/legible-rows.js';
import { readHead } from '../../storage/log/read-events.js';
import { assertNotErased, findRun, lockRun } from '../../storage/runs/runs.js';
import { judgeTask } from '../../storage/tasks/end-task.js';
import { insertReward, lastReward, listRewardRows, rewardViewOf } from '../../storage/tasks/rewards.js';
import { judgeTrajectory, runFactsOf } from '../../storage/trajectories/trajectories.js';
import type { EngineContext } from '../engine-context.js';

const unknown = (id: string): HoldfastError =>
  new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);

/**
 * Says what a run was worth: the next version, which counts from now on. What the same actor has said last, said again, is the
 * version that is there.
 */
export async function rewardRun(
  context: EngineContext,
  id: string,
  request: GiveReward,
  caller: Caller,
): Promise<RewardView> {
  const parsed = giveReward.safeParse(request);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  const data = rewardDataOf(parsed.data);
  const { stepContext } = context;
  if ((await findRun(stepContext.knex, caller.tenant, id)) === undefined) throw unknown(id);
  return stepContext.knex.transaction(async (trx) => {
    const run = await lockRun(trx, id);
    const head = await readHead(trx, id);
    if (run === undefined || head === undefined) throw unknown(id);
    assertNotErased(run);
    if (head.runKey === null) throw unknown(id);
    const last = await lastReward(trx, id);
    if (last !== null && last.actor === caller.actor && isSameJudgement(last, data)) return last;
    const { runKey, seq: headSeq, hash: headHash } = head;
    const made = {
      runId: id,
      tenant: run.tenant,
      actor: caller.actor,
      at: isoNow(stepContext),
      headSeq,
      headHash,
      runKey,
    };
    const view = await insertReward(trx, made, data);
    const { status, error } = runFactsOf(run, view).run;
    const end = { status, error, cancelReason: run.cancel_reason };
    const result = resultOf(end, view);
    if (result !== null) await judgeTrajectory(trx, id, { result, reward: view.reward });
    if (run.task_id !== null) await judgeTask(trx, { runId: id, ...end });
    return view;
  });
}

/** What was said of a run, oldest first. Throws `run_unknown`. */
export async function listRewards(
  context: EngineContext,
  id: string,
  { after, limit }: { readonly after: number; readonly limit: number },
  caller: Caller,
): Promise<Page<RewardView>> {
  if ((await findRun(context.stepContext.knex, caller.tenant, id)) === undefined) throw unknown(id);
  const { rows, more } = await listRewardRows(context.stepContext.knex, id, { after, limit });
  const shown = legibleRows(rows, ({ version }) => String(version), rewardViewOf);
  return { ...shown, nextCursor: more ? String(rows.at(-1)?.version ?? 0) : null };
}
