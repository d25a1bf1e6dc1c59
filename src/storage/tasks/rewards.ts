import type { Knex } from 'knex';
import { canonical } from '../../core/json.js';
import {
  judgement,
  type RewardData,
  type RewardSeal,
  type RewardView,
  rewardDataHash,
  rewardHash,
} from '../../core/tasks/reward.js';
import { readJson } from '../database/stored-json.js';
import { type PageRows, rowsOfPage } from '../runs/page-rows.js';

interface RewardRow {
  run_id: string;
  version: number;
  tenant: string;
  /** Null: it was erased. */
  data: string | null;
  data_hash: string;
  actor: string;
  at: string;
  head_seq: number;
  head_hash: string;
  prev_hash: string | null;
  hash: string;
}

/** With the hash of the version before, as it is kept, and the key of the run; null: erased. */
export type CheckedRow = RewardRow & { readonly before_hash: string | null; readonly run_key: string | null };

/** Versions that were not erased, with what they are checked against. */
const rewards = (db: Knex) =>
  db('holdfast.rewards as r')
    .leftJoin('holdfast.rewards as before', (join) =>
      join.on('before.run_id', 'r.run_id').andOn('before.version', '=', db.raw('r.version - 1')),
    )
    .leftJoin('holdfast.run_keys as k', 'k.run_id', 'r.run_id')
    .whereNotNull('r.data')
    .select('r.*', 'before.hash as before_hash', 'k.key as run_key');

const sealOf = (row: RewardRow): RewardSeal => ({
  ...{ runId: row.run_id, tenant: row.tenant, version: row.version, actor: row.actor, at: row.at },
  ...{ headSeq: row.head_seq, headHash: row.head_hash, prevHash: row.prev_hash },
});

export function rewardViewOf(row: CheckedRow): RewardView {
  const place = { table: 'rewards', row: `version ${row.version} of run ${row.run_id}`, column: 'data' };
  const data = readJson(judgement, row.data ?? 'null', place);
  const isSaid = row.run_key === null || row.data_hash === rewardDataHash(row.run_key, row.version, data);
  const isSealed = row.hash === rewardHash(sealOf(row), row.data_hash);
  return {
    ...data,
    ...{ runId: row.run_id, version: row.version, actor: row.actor, at: row.at },
    head: { seq: row.head_seq, hash: row.head_hash },
    ...{ prevHash: row.prev_hash, hash: row.hash, intact: isSaid && isSealed && row.prev_hash === row.before_hash },
  };
}

/** The version that counts of each of these runs that has one. Each is read by itself: one that cannot be read throws `row_changed`. */
export async function lastRewards(db: Knex, runIds: readonly string[]): Promise<ReadonlyMap<string, () => RewardView>> {
  const rows: CheckedRow[] = await rewards(db)
    .whereRaw('r.run_id = any(?)', [[...runIds]])
    .distinctOn('r.run_id')
    .orderBy([{ column: 'r.run_id' }, { column: 'r.version', order: 'desc' }]);
  return new Map(rows.map((row) => [row.run_id, () => rewardViewOf(row)]));
}

export const lastReward = async (db: Knex, runId: string): Promise<RewardView | null> =>
  (await lastRewards(db, [runId])).get(runId)?.() ?? null;

/** Versions after a number, oldest first. */
export async function listRewardRows(
  db: Knex,
  runId: string,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<PageRows<CheckedRow>> {
  const query = rewards(db).where({ 'r.run_id': runId }).whereRaw('r.version > ?::bigint', [after]);
  const order = [{ column: 'r.version', order: 'asc' as const }];
  return rowsOfPage<CheckedRow>(db, query, { order, bytes: 'octet_length(r.data)', limit });
}

/** Adds the next version under the lock of the run's row, sealed to the one before and to the head of the run's log. */
export async function insertReward(
  trx: Knex.Transaction,
  { runKey, ...made }: Omit<RewardSeal, 'version' | 'prevHash'> & { readonly runKey: string },
  data: RewardData,
): Promise<RewardView> {
  const before: { version: number; hash: string } | undefined = await trx('holdfast.rewards')
    .where({ run_id: made.runId })
    .orderBy('version', 'desc')
    .first('version', 'hash');
  const seal: RewardSeal = { ...made, version: (before?.version ?? 0) + 1, prevHash: before?.hash ?? null };
  const dataHash = rewardDataHash(runKey, seal.version, data);
  const row: RewardRow = {
    ...{ run_id: seal.runId, version: seal.version, tenant: seal.tenant, data: canonical(data), data_hash: dataHash },
    ...{ actor: seal.actor, at: seal.at, head_seq: seal.headSeq, head_hash: seal.headHash, prev_hash: seal.prevHash },
    hash: rewardHash(seal, dataHash),
  };
  await trx('holdfast.rewards').insert(row);
  return rewardViewOf({ ...row, before_hash: seal.prevHash, run_key: runKey });
}
