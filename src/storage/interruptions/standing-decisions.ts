import type { Knex } from 'knex';
import { z } from 'zod';
import type { StandingDecisionView, StandingRule } from '../../core/interruptions/standing.js';
import { canonical } from '../../core/json.js';
import { columnsOf, type Rows } from '../database/columns.js';
import { viewOfRow } from '../database/legible-rows.js';
import { readJson } from '../database/stored-json.js';
import { type PageRows, rowsOfPage } from '../runs/page-rows.js';

export interface StandingRow {
  id: string;
  run_id: string;
  tenant: string;
  interruption_id: string;
  agent: string;
  tool: string;
  tool_version: string;
  scope: string;
  exact: boolean;
  actor: string;
  made_at: Date;
  revoked_at: Date | null;
  revoked_by: string | null;
}

const standingColumns = columnsOf<StandingRow>({
  id: true,
  run_id: true,
  tenant: true,
  interruption_id: true,
  agent: true,
  tool: true,
  tool_version: true,
  scope: true,
  exact: true,
  actor: true,
  made_at: true,
  revoked_at: true,
  revoked_by: true,
});

const standing = (db: Knex) => db<StandingRow>('holdfast.standing_decisions');

export async function insertStanding(
  trx: Knex.Transaction,
  made: StandingRule & { readonly runId: string; readonly tenant: string; readonly interruptionId: string },
): Promise<void> {
  await standing(trx).insert({
    ...{ id: made.id, run_id: made.runId, tenant: made.tenant, interruption_id: made.interruptionId },
    ...{ agent: made.agent, tool: made.tool, tool_version: made.toolVersion, actor: made.actor },
    ...{ scope: canonical(made.scope), exact: made.exact },
  });
}

const scopeShape = z.array(z.string());

export const standingViewOf = (row: StandingRow): StandingDecisionView =>
  viewOfRow(row, { table: 'standing_decisions', row: row.id }, shownStanding);

const shownStanding = (row: StandingRow): StandingDecisionView => ({
  id: row.id,
  runId: row.run_id,
  interruptionId: row.interruption_id,
  agent: row.agent,
  tool: row.tool,
  toolVersion: row.tool_version,
  scope: readJson(scopeShape, row.scope, { table: 'standing_decisions', row: row.id, column: 'scope' }),
  exact: row.exact,
  actor: row.actor,
  madeAt: row.made_at.toISOString(),
  revokedAt: row.revoked_at?.toISOString() ?? null,
  revokedBy: row.revoked_by,
});

const ORDER = ['made_at', 'id'] as const;

/** A page of those that were made in a run, oldest first, revoked ones too; `after`: only those after the one with this id. */
export async function listStandingRows(
  db: Knex,
  runId: string,
  { after, limit }: { readonly after?: string; readonly limit: number },
): Promise<PageRows<StandingRow>> {
  const query = standing(db).where({ run_id: runId }).select(standingColumns(db));
  const place = 'select made_at, id from holdfast.standing_decisions where run_id = ? and id = ?';
  if (after !== undefined) query.whereRaw(`(made_at, id) > (${place})`, [runId, after]);
  const order = ORDER.map((column) => ({ column, order: 'asc' as const }));
  return rowsOfPage<StandingRow>(db, query, { order, bytes: 'octet_length(scope)', limit });
}

export const standingRowsOf = (db: Knex, runId: string): Rows<StandingRow> =>
  standing(db)
    .where({ run_id: runId })
    .orderBy([...ORDER])
    .select(standingColumns(db));

/** The same as they were at one moment, and where the log of the run ended then. */
export interface StandingThen extends StandingRow {
  readonly log_seq: number;
}

export const standingThen = (db: Knex, runId: string): Rows<StandingThen> =>
  (standingRowsOf(db, runId) as Knex.QueryBuilder).select(
    db.raw('(select seq from holdfast.run_heads where run_id = ?) as log_seq', [runId]),
  );

export async function standingByIds(db: Knex, ids: readonly string[]): Promise<StandingDecisionView[]> {
  const rows: StandingRow[] = await standing(db)
    .whereIn('id', ids)
    .orderBy([...ORDER])
    .select(standingColumns(db));
  return rows.map(standingViewOf);
}

export async function findStanding(db: Knex, runId: string, id: string): Promise<StandingDecisionView | undefined> {
  const row: StandingRow | undefined = await standing(db).where({ run_id: runId, id }).first(standingColumns(db));
  return row === undefined ? undefined : standingViewOf(row);
}

/** Revokes one that is not revoked yet. */
export async function revokeStanding(trx: Knex.Transaction, runId: string, id: string, actor: string): Promise<void> {
  await standing(trx)
    .where({ run_id: runId, id })
    .whereNull('revoked_at')
    .update({ revoked_at: trx.fn.now() as unknown as Date, revoked_by: actor });
}
