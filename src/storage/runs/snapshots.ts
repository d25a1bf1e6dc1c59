import type { Knex } from 'knex';
import { sha256 } from '../../core/json.js';
import type { Rows } from '../database/columns.js';

export interface Snapshot {
  readonly runId: string;
  readonly tenant: string;
  /** The segment that starts from this state. */
  readonly segment: number;
  /** That of the SDK, which names its own schema version, with a member of ours. */
  readonly state: string;
}

/** The SDK, and how its states are kept: `+past` has the turns that are over beside it, which a build before it would lose. */
const SDK = 'openai-agents-js+past';
/** The same, for a state that refers to the log of its run, which a build before it would take for whole. */
const REFERRING = 'openai-agents-js+log';
const READABLE: readonly string[] = [REFERRING, SDK, 'openai-agents-js'];

/** What is in quotes in a text of JSON has its quotes escaped. A value of a tool that looks so changes only the name. */
const sdkOf = (state: string): string =>
  state.includes('"type":"logged_result"') || state.includes('"logged_input":"') ? REFERRING : SDK;

export async function insertSnapshot(trx: Knex.Transaction, snapshot: Snapshot): Promise<void> {
  await trx('holdfast.snapshots').insert({
    run_id: snapshot.runId,
    segment: snapshot.segment,
    tenant: snapshot.tenant,
    sdk: sdkOf(snapshot.state),
    digest: sha256(snapshot.state),
    state: snapshot.state,
  });
  // An older snapshot is of no use once its segment is over.
  await trx('holdfast.snapshots').where({ run_id: snapshot.runId }).where('segment', '<', snapshot.segment).delete();
}

export interface SnapshotRow {
  readonly state: string;
  readonly digest: string;
  readonly sdk: string;
}

export const snapshotOf = (db: Knex, runId: string, segment: number): Rows<SnapshotRow> =>
  db('holdfast.snapshots').where({ run_id: runId, segment }).select('state', 'digest', 'sdk');

/** The state that a segment starts from; null when there is none or when it does not have its digest any more. */
export const soundState = (row: SnapshotRow | undefined): string | null =>
  row === undefined || !READABLE.includes(row.sdk) || row.digest !== sha256(row.state) ? null : row.state;

export async function readSnapshot(db: Knex, runId: string, segment: number): Promise<string | null> {
  const [row]: SnapshotRow[] = await snapshotOf(db, runId, segment);
  return soundState(row);
}

/** Gives the state that a segment starts from to the segment that takes its place. */
export async function moveSnapshot(trx: Knex.Transaction, runId: string, segment: number, to: number): Promise<void> {
  await trx('holdfast.snapshots').where({ run_id: runId, segment }).update({ segment: to });
}

/** Puts a state that was made again from the log in the place of one that was lost or damaged. */
export async function repairSnapshot(db: Knex, snapshot: Snapshot): Promise<void> {
  const { runId, segment, tenant, state } = snapshot;
  await db('holdfast.snapshots')
    .insert({ run_id: runId, segment, tenant, sdk: sdkOf(state), digest: sha256(state), state })
    .onConflict(['run_id', 'segment'])
    .merge(['sdk', 'digest', 'state']);
}
