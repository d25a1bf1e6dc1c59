import type { Knex } from 'knex';
import { changesOf, deleteChanges, documentsOfRun, labelsOfChanges, moveChange, removeWrites } from './changes.js';
import { CrdtDocument } from './crdt-document.js';
import {
  type DocumentPlace,
  deleteDocument,
  documents,
  GONE,
  type GoneDocument,
  lockDocument,
  updateDocument,
} from './documents.js';

/** Removes the documents of an owner, in all spaces of its scope. Gives those that are to be entered into the log. */
export const removeOwned = (
  trx: Knex.Transaction,
  of: { readonly tenant: string; readonly scope: 'run' | 'session' | 'user'; readonly owner: string },
): Promise<readonly GoneDocument[]> =>
  documents(trx)
    .where(of)
    .delete()
    .returning([...GONE]);

/**
 * Takes out of memory what a run wrote: its own documents, and its changes of others, which are made again from the changes that are
 * left. `keepsChanges`: only its own documents go.
 */
export async function eraseMemoryOfRun(
  trx: Knex.Transaction,
  { id, tenant }: { readonly id: string; readonly tenant: string },
  keepsChanges: boolean,
): Promise<void> {
  // No log misses these: the run alone wrote them, and what it wrote is erased with it.
  await removeOwned(trx, { tenant, scope: 'run', owner: id });
  await removeWrites(trx, id);
  if (keepsChanges) return;
  for (const place of await documentsOfRun(trx, id)) await removeChangesOf(trx, place, id);
}

/** Removes the changes of a run from a document. One without any other change goes: all that wrote it are erased. */
async function removeChangesOf(trx: Knex.Transaction, place: DocumentPlace, runId: string): Promise<void> {
  const row = await lockDocument(trx, place);
  if (row === undefined) return;
  await deleteChanges(trx, place, runId);
  const left = await changesOf(trx, place, { after: 0, limit: null });
  if (left.length === 0) {
    await deleteDocument(trx, place);
    return;
  }
  const { document, frontiers } = await CrdtDocument.from(left);
  for (const { version } of left) await moveChange(trx, place, version, frontiers.get(version) ?? '[]');
  const { value, bytes } = document;
  document.free();
  const state = { version: row.version, value, labels: labelsOfChanges(left), document: bytes };
  await updateDocument(trx, place, state, { erased: runId });
}

/** Removes documents whose time is over, those first that were over first. Gives those that are to be entered into the log. */
export async function removeExpiredDocuments(
  trx: Knex.Transaction,
  { tenant, limit }: { readonly tenant: string | null; readonly limit: number },
): Promise<readonly GoneDocument[]> {
  const { rows }: { rows: GoneDocument[] } = await trx.raw(
    `delete from holdfast.memory_documents where (tenant, space, owner, key) in (
       select tenant, space, owner, key from holdfast.memory_documents
        where expires_at <= now() and (:tenant::text is null or tenant = :tenant) order by expires_at limit :limit)
     returning tenant, space, id, version`,
    { tenant, limit },
  );
  return rows;
}
