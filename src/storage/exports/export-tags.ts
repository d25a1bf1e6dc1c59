import type { Knex } from 'knex';
import { labelsOf } from '../../core/runs/run.js';
import { metadataOf, type RunRow } from '../runs/run-row.js';

/** Stands where a name was that someone chose. */
export const ERASED_NAME = 'erased';

const TAG = `request::jsonb #>> '{filters,tag}'`;
const WITHOUT = `jsonb_set(request::jsonb, '{filters,tag}', to_jsonb(?::text))::text`;

/**
 * Takes the tags of a run, which may be about a person, out of what exports asked for, in the transaction that erases or removes the run.
 * One that is at work needs its tag until its end, which waits for this transaction.
 */
export async function eraseTags(trx: Knex.Transaction, run: RunRow): Promise<void> {
  const { tags } = labelsOf(metadataOf(run));
  if (tags.length === 0) return;
  const asked = () => trx('holdfast.exports').where({ tenant: run.tenant }).whereRaw(`${TAG} = any(?)`, [tags]);
  await asked().orderBy('id').forUpdate().select('id');
  await asked()
    .whereNotNull('completed_at')
    .update({ request: trx.raw(WITHOUT, [ERASED_NAME]) });
}

/** Takes the tag of an export away that ends, where a run that it lists was erased or removed meanwhile. Under the lock of its row. */
export async function eraseTagOfEnded(trx: Knex.Transaction, exportId: string): Promise<void> {
  const gone = trx('holdfast.export_runs as x')
    .leftJoin('holdfast.runs as r', 'r.id', 'x.run_id')
    .where('x.export_id', exportId)
    .where((one) => one.whereNull('r.id').orWhereNotNull('r.erased_at'))
    .select('x.run_id');
  await trx('holdfast.exports')
    .where({ id: exportId })
    .whereRaw(`${TAG} is not null`)
    .whereExists(gone)
    .update({ request: trx.raw(WITHOUT, [ERASED_NAME]) });
}
