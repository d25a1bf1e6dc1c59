import type { Knex } from 'knex';
import { z } from 'zod';
import { changeName } from '../../core/integrity/memory-rows.js';
import type { Integrity } from '../../core/integrity.js';
import { canonical } from '../../core/json.js';
import { type StateOp, stateOp } from '../../core/tools/agent-state.js';
import { type MemoryRef, memoryRef, type TrustLabel, trustLabel } from '../../core/tools/tool-memory.js';
import { type Columns, json, shownLegibly, TIME } from '../database/legible-rows.js';
import { type Cell, readJson } from '../database/stored-json.js';
import type { KeptChange } from './crdt-document.js';
import { type DocumentPlace, readLabels } from './documents.js';
import type { WriteEvidence } from './evidence-rows.js';

/** A row of `holdfast.memory_changes` as the driver gives it. */
interface ChangeRow {
  tenant: string;
  space: string;
  owner: string;
  key: string;
  version: number;
  base: number;
  ops: string;
  frontiers: string;
  run_id: string;
  call_id: string;
  event: number;
  agent: string;
  actors: string;
  derived_from: string;
  labels: string;
  at: Date;
}

const changes = (db: Knex) => db<ChangeRow>('holdfast.memory_changes');

/** Where a change of a document comes from. */
export interface Provenance {
  readonly runId: string;
  readonly callId: string;
  /** The number of the `call.started` of the call in the log of its run. */
  readonly event: number;
  readonly agent: string;
  /** Who asked for the run. */
  readonly actors: readonly string[];
  readonly derivedFrom: readonly MemoryRef[];
  readonly labels: readonly TrustLabel[];
}

export interface MadeChange extends KeptChange, Provenance {
  readonly at: Date;
}

const opList = z.array(stateOp);
const refList = z.array(memoryRef);
const nameList = z.array(z.string());

const cell = (row: ChangeRow, column: keyof ChangeRow): Cell => ({
  ...{ table: 'memory_changes', row: changeName(row), column },
});

const changeOf = (row: ChangeRow): MadeChange => ({
  ...{ version: row.version, base: row.base, ops: readJson(opList, row.ops, cell(row, 'ops')) },
  ...{ runId: row.run_id, callId: row.call_id, event: row.event, agent: row.agent, at: row.at },
  actors: readJson(nameList, row.actors, cell(row, 'actors')),
  derivedFrom: readJson(refList, row.derived_from, cell(row, 'derived_from')),
  labels: readLabels(row.labels, cell(row, 'labels')),
});

export async function insertChange(
  trx: Knex.Transaction,
  { tenant, space, owner, key }: DocumentPlace,
  change: KeptChange & Provenance & { readonly frontiers: string },
): Promise<void> {
  await changes(trx).insert({
    ...{ tenant, space, owner, key, version: change.version, base: change.base, ops: textOfOps(change.ops) },
    ...{ frontiers: change.frontiers, run_id: change.runId, call_id: change.callId, event: change.event },
    ...{ agent: change.agent, actors: canonical([...change.actors]) },
    ...{ derived_from: canonical([...change.derivedFrom]), labels: canonical([...change.labels]) },
  });
}

const textOfOps = (ops: readonly StateOp[]): string => canonical([...ops]);

/** Where a document stood after a change; null: there is no such change. */
export async function frontiersOf(
  db: Knex,
  { tenant, space, owner, key }: DocumentPlace,
  version: number,
): Promise<string | null> {
  const row = await changes(db).where({ tenant, space, owner, key, version }).first('frontiers');
  return row?.frontiers ?? null;
}

/** Changes of a document in their order, after a version. Without a limit: all that there are, which are few. */
export const changesOf = async (
  db: Knex,
  of: DocumentPlace,
  asked: { readonly after: number; readonly limit: number | null },
): Promise<MadeChange[]> => (await changeRows(db, of, asked)).map(changeOf);

async function changeRows(
  db: Knex,
  { tenant, space, owner, key }: DocumentPlace,
  { after, limit }: { readonly after: number; readonly limit: number | null },
): Promise<ChangeRow[]> {
  const found = changes(db)
    .where({ tenant, space, owner, key })
    .whereRaw('version > ?::bigint', [after])
    .orderBy('version');
  if (limit !== null) found.limit(limit);
  return found;
}

const COLUMNS: Columns<ChangeRow> = {
  ...{ ops: json(opList, '[]'), actors: json(nameList, '[]'), derived_from: json(refList, '[]') },
  ...{ labels: json(z.array(trustLabel), '[]'), at: TIME },
};

/** The same as they are shown, with what of their rows cannot be read. */
export async function shownChangesOf(
  db: Knex,
  of: DocumentPlace,
  asked: { readonly after: number; readonly limit: number },
): Promise<
  readonly { readonly change: Omit<MadeChange, 'at'> & { readonly at: string }; readonly unread: Integrity }[]
> {
  const rows = await changeRows(db, of, asked);
  return rows.map((row) => {
    const { view: change, unread } = shownLegibly(
      row,
      { table: 'memory_changes', id: changeName(row), columns: COLUMNS },
      (one) => ({ ...changeOf(one), at: one.at.toISOString() }),
    );
    return { change, unread };
  });
}

/** Documents that a run has changed, in an order in which all lock them. */
export const documentsOfRun = (db: Knex, runId: string): Promise<DocumentPlace[]> =>
  changes(db)
    .where({ run_id: runId })
    .distinct('tenant', 'space', 'owner', 'key')
    .orderBy(['tenant', 'space', 'owner', 'key'])
    .select('tenant', 'space', 'owner', 'key');

export async function deleteChanges(
  trx: Knex.Transaction,
  { tenant, space, owner, key }: DocumentPlace,
  runId: string,
): Promise<void> {
  await changes(trx).where({ tenant, space, owner, key, run_id: runId }).delete();
}

/** Says where a document stood after a change, when it was made again without some. */
export async function moveChange(
  trx: Knex.Transaction,
  { tenant, space, owner, key }: DocumentPlace,
  version: number,
  frontiers: string,
): Promise<void> {
  await changes(trx).where({ tenant, space, owner, key, version }).update({ frontiers });
}

export const labelsOfChanges = (made: readonly MadeChange[]): readonly TrustLabel[] =>
  [...new Set(made.flatMap(({ labels }) => labels))].sort();

/** A write of a call that was made. */
interface WriteRow {
  call_key: string;
  n: number;
  run_id: string;
  tenant: string;
  version: number;
  at: Date;
  document: string | null;
  change: string | null;
  state: string | null;
}

const writes = (db: Knex) => db<WriteRow>('holdfast.memory_writes');

/** The n-th write of a call. Its key is the same at every execution of the call. */
export type WriteName = Pick<WriteRow, 'call_key' | 'n'>;

/** Begins a write, in the transaction that makes it. Not null: it was made before, and made this version. */
export async function claimWrite(
  trx: Knex.Transaction,
  name: WriteName,
  of: Pick<WriteRow, 'run_id' | 'tenant'>,
): Promise<number | null> {
  const { rowCount }: { rowCount: number } = await trx.raw(
    `insert into holdfast.memory_writes (call_key, n, run_id, tenant, version) values (?, ?, ?, ?, 0)
       on conflict do nothing`,
    [name.call_key, name.n, of.run_id, of.tenant],
  );
  if (rowCount > 0) return null;
  const row = await writes(trx).where(name).first('version');
  return row?.version ?? 0;
}

export async function endWrite(trx: Knex.Transaction, name: WriteName, made: WriteEvidence): Promise<void> {
  await writes(trx).where(name).update(made);
}

/** No one knows any more which writes the calls of a run have made. */
export async function removeWrites(trx: Knex.Transaction, runId: string): Promise<void> {
  await writes(trx).where({ run_id: runId }).delete();
}
