import type { Knex } from 'knex';
import { canonical } from '../../core/json.js';
import type { StateOp } from '../../core/tools/agent-state.js';
import type { MemoryRef, TrustLabel } from '../../core/tools/tool-memory.js';
import type { KeptChange } from './crdt-document.js';
import type { DocumentPlace } from './documents.js';

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

/** A write of a call that was made. */
interface WriteRow {
  call_key: string;
  n: number;
  run_id: string;
  tenant: string;
  version: number;
  at: Date;
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

export async function endWrite(trx: Knex.Transaction, name: WriteName, version: number): Promise<void> {
  await writes(trx).where(name).update({ version });
}
