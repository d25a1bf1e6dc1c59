import type { Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import { openErasureOf } from './erasure-requests.js';
import { shareSubjects } from './subjects.js';

/** Throws `subject_erasing` while all of one of these subjects is being erased. Until the transaction ends, no erasure begins. */
export async function assertNotErasing(trx: Knex.Transaction, tenant: string, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  await shareSubjects(trx, tenant, names);
  const open = await openErasureOf(trx, tenant, names);
  if (open !== undefined)
    throw new HoldfastError('subject_erasing', `All runs of a subject of this run are being erased: ${open.id}.`);
}
