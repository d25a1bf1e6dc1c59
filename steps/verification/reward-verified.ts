import type { Knex } from 'knex';
import { judgementOf, type TaskVerified } from '../../src/core/tasks/task-reward.js';
import { readHead } from '../../src/storage/log/read-events.js';
import type { RunRow } from '../../src/storage/runs/run-row.js';
import { insertReward } from '../../src/storage/tasks/rewards.js';
import { isoNow, type StepContext } from '../context.js';

/** Whose word a verification is. */
const VERIFIER = 'verifier';

/** Says what a run was worth by its verification, in the transaction that ends it and after its last event is written. */
export async function rewardVerified(
  ctx: StepContext,
  trx: Knex.Transaction,
  run: Pick<RunRow, 'id' | 'tenant'>,
  verified: TaskVerified,
): Promise<void> {
  const head = await readHead(trx, run.id);
  if (head === undefined || head.runKey === null) return;
  const { seq: headSeq, hash: headHash, runKey } = head;
  const made = { runId: run.id, tenant: run.tenant, actor: VERIFIER, at: isoNow(ctx), headSeq, headHash, runKey };
  await insertReward(trx, made, judgementOf(verified));
}
