import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import type { Loss, LossEntry } from '../../core/evidence/log-entry.js';
import { appendEntries, entryRows, lockLog } from '../evidence/log-rows.js';

/** What is entered of a run that loses something, read while its head is still there. */
export type LossDraft = Omit<LossEntry, 'previous'>;

export async function lossDraft(
  trx: Knex.Transaction,
  runId: string,
  { loss, actor, reason }: { readonly loss: Loss; readonly actor: string; readonly reason: string },
): Promise<LossDraft | null> {
  const head = await trx('holdfast.run_heads').where({ run_id: runId }).first('tenant', 'seq', 'hash');
  return head === undefined ? null : { v: 1, loss, runId, ...head, actor, reason };
}

/**
 * Enters it into the log over all runs, as the last statement of the transaction that takes it away. A log that is broken takes
 * no entry, and keeps nobody from erasing: the loss then has no entry, which verifying says.
 */
export async function enterLoss(trx: Knex.Transaction, draft: LossDraft | null): Promise<void> {
  if (draft === null) return;
  await lockLog(trx);
  const { runId: run_id, loss, seq } = draft;
  if ((await entryRows(trx).where({ run_id, loss, seq }).first('index')) !== undefined) return;
  const before = await entryRows(trx).where({ run_id }).whereNull('loss').orderBy('seq', 'desc').first('hashes');
  try {
    await appendEntries(trx, [{ ...draft, previous: before?.hashes.slice(0, 64) ?? null }]);
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === 'log_broken')) throw error;
  }
}
