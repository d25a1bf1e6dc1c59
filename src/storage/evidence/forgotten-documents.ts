import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import type { ForgottenEntry } from '../../core/evidence/log-entry.js';
import type { Forgetting, GoneDocument } from '../memory/gone-documents.js';
import { appendEntries, entryRows, lockLog } from './log-rows.js';

/**
 * Enters documents that were removed into the log over all runs, as the last statement of the transaction that removes them. A document
 * of an older build has no id, and no log can miss it. A log that is broken takes no entry, and keeps no one from forgetting.
 */
export async function enterForgotten(
  trx: Knex.Transaction,
  gone: readonly GoneDocument[],
  { actor, reason }: Forgetting,
): Promise<void> {
  const named = gone.flatMap(({ id, ...rest }) => (id === null ? [] : [{ ...rest, id }]));
  if (named.length === 0) return;
  await lockLog(trx);
  // Someone may have put back a document that was removed before.
  const before: (string | null)[] = await entryRows(trx)
    .whereRaw('document = any(?)', [named.map(({ id }) => id)])
    .pluck('document');
  const known = new Set<string | null>(before);
  const drafts = named
    .filter(({ id }) => !known.has(id))
    .map(
      ({ id, tenant, space, version }): ForgottenEntry => ({
        ...{ v: 1, loss: 'forgotten', document: id, space, tenant, version, actor, reason },
      }),
    );
  try {
    await appendEntries(trx, drafts);
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === 'log_broken')) throw error;
  }
}
