import type { Knex } from 'knex';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import {
  type AgentVersion,
  APPLY_TOOL,
  EVOLUTION_AGENT,
  type Measure,
  measure,
  type TrialReport,
  trialReport,
  type VERSION_STATUSES,
} from '../../core/evolution/version.js';
import { canonical, type JsonObject, type JsonValue, jsonValue, objectsIn } from '../../core/json.js';
import { EVENT_DATA, type EventData, type EventKind } from '../../core/log/event.js';
import type { KeyedEvent } from '../../core/log/recording.js';
import type { SystemEventData } from '../../core/log/system-event.js';
import { type Page, type PageOf, readCursor, writeCursor } from '../../core/page.js';
import { timeOrNull, viewOfRow } from '../database/legible-rows.js';
import { readJson, readJsonOrNull } from '../database/stored-json.js';
import { readKeyedEvents } from '../log/keyed-events.js';
import { appendSystemEvent } from '../ops/system-events.js';
import type { RunRow } from '../runs/run-row.js';
import { runs } from '../runs/runs.js';

/** Versions of agents that patches made. */

export interface VersionRow {
  tenant: string;
  id: string;
  agent: string;
  base_hash: string;
  definition_hash: string;
  version: string;
  patch: string;
  report: string | null;
  report_digest: string | null;
  status: (typeof VERSION_STATUSES)[number];
  share: number;
  measure: string | null;
  actor: string | null;
  reason: string | null;
  created_at: Date;
  applied_at: Date | null;
  ended_at: Date | null;
}

const versions = (db: Knex) => db<VersionRow>('holdfast.agent_versions');
const now = (db: Knex): Date => db.fn.now() as unknown as Date;

const LISTED = 50;
const COUNTED = 1000;

type NewVersion = Pick<VersionRow, 'tenant' | 'id' | 'agent' | 'base_hash' | 'definition_hash' | 'version' | 'patch'>;

/** Keeps a proposed version. The same proposal again writes nothing. */
export async function insertVersion(db: Knex, version: NewVersion): Promise<void> {
  await versions(db)
    .insert({ ...version, status: 'proposed' })
    .onConflict(['tenant', 'id'])
    .ignore();
}

export async function saveReport(
  db: Knex,
  { tenant, id }: Pick<VersionRow, 'tenant' | 'id'>,
  report: JsonValue,
  digest: string,
): Promise<void> {
  await versions(db)
    .where({ tenant, id, status: 'proposed' })
    .update({ report: canonical(report), report_digest: digest });
}

export const findVersion = (
  db: Knex,
  of: Partial<Pick<VersionRow, 'id' | 'definition_hash' | 'status' | 'agent'>> & { readonly tenant: string },
): Promise<VersionRow | undefined> => versions(db).where(of).first();

export const versionsOf = (db: Knex, tenant: string, agent: string): Promise<VersionRow[]> =>
  versions(db)
    .where({ tenant, agent })
    .orderBy([
      { column: 'created_at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(LISTED);

export interface VersionFilter extends PageOf {
  readonly tenant: string;
  readonly status?: VersionRow['status'];
}

/** When the last version of a page was proposed, and its id. */
const cursorShape = z.tuple([z.iso.datetime(), z.string()]);

/** A page of the versions of all agents, newest first. */
export async function allVersions(
  db: Knex,
  { tenant, status, limit, cursor }: VersionFilter,
): Promise<Page<VersionRow>> {
  const found = versions(db)
    .where({ tenant, ...(status === undefined ? {} : { status }) })
    .orderByRaw("date_trunc('milliseconds', created_at) desc, id desc")
    .limit(limit + 1);
  if (cursor !== undefined) {
    const [at, id] = readCursor(cursor, cursorShape);
    // PostgreSQL does not read a year 0 as a text.
    found.whereRaw("(date_trunc('milliseconds', created_at), id) < (?::timestamptz, ?)", [new Date(at), id]);
  }
  const rows: VersionRow[] = await found;
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const next = rows.length > limit && last !== undefined ? writeCursor([last.created_at.toISOString(), last.id]) : null;
  return { items, nextCursor: next };
}

type Change = Pick<SystemEventData<'agent.version_changed'>, 'status' | 'share' | 'actor'>;

/** Tells of a change, in the transaction that makes it. */
const tell = (
  trx: Knex.Transaction,
  { tenant, id: runId, agent, version }: Pick<VersionRow, 'tenant' | 'id' | 'agent' | 'version'>,
  change: Change,
) => appendSystemEvent(trx, { kind: 'agent.version_changed', tenant, runId, data: { agent, version, ...change } });

/** Makes a proposed version live, in the place of the one that was. The second time it does nothing. */
export async function makeLive(
  trx: Knex.Transaction,
  { tenant, id, agent }: Pick<VersionRow, 'tenant' | 'id' | 'agent'>,
  { share, terms, actor }: { readonly share: number; readonly terms: Measure | null; readonly actor: string | null },
): Promise<void> {
  await trx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`agent_versions ${tenant} ${agent}`]);
  const own = await versions(trx).where({ tenant, id }).forUpdate().first();
  if (own?.status !== 'proposed') return;
  await versions(trx)
    .where({ tenant, agent, status: 'live' })
    .update({ status: 'replaced', ended_at: now(trx) });
  await versions(trx)
    .where({ tenant, id })
    .update({ status: 'live', share, actor, measure: terms === null ? null : canonical(terms), applied_at: now(trx) });
  await tell(trx, own, { status: 'live', share, actor });
}

/** Changes the share of a version while it is live. Returns whether it is. */
export async function setShare(
  trx: Knex.Transaction,
  { tenant, id }: Pick<VersionRow, 'tenant' | 'id'>,
  share: number,
  actor: string,
): Promise<boolean> {
  const [live] = await versions(trx).where({ tenant, id, status: 'live' }).update({ share, actor }).returning('*');
  if (live === undefined) return false;
  await tell(trx, live, { status: 'live', share, actor });
  return true;
}

/** Takes the live version back; with `id` only that one. Returns whether this call did. */
export async function takeBack(
  trx: Knex.Transaction,
  of: { readonly tenant: string; readonly agent: string; readonly id?: string },
  actor: string | null,
  reason: string,
): Promise<boolean> {
  const [gone] = await versions(trx)
    .where({ ...of, status: 'live' })
    .update({ status: 'rolled_back', share: 0, actor, reason, ended_at: now(trx) })
    .returning('*');
  if (gone === undefined) return false;
  await tell(trx, gone, { status: 'rolled_back', share: 0, actor });
  return true;
}

/** How many runs of a version ended, and how many of these completed, of the newest ones. */
export async function outcomesOf(
  db: Knex,
  {
    tenant,
    agent,
    definition_hash,
    applied_at,
  }: Pick<VersionRow, 'tenant' | 'agent' | 'definition_hash' | 'applied_at'>,
): Promise<Outcomes> {
  if (timeOrNull(applied_at) === null) return { completed: 0, ended: 0 };
  // Runs of the trial were started before.
  const newest = runs(db)
    .where('created_at', '>=', applied_at)
    .where({ tenant, agent, agent_hash: definition_hash })
    .whereIn('status', ['completed', 'failed'])
    .orderBy('created_at', 'desc')
    .limit(COUNTED)
    .select('status');
  const row: { completed: number; ended: number } | undefined = await db
    .from(newest.as('r'))
    .first(
      db.raw(`(count(*) filter (where r.status = 'completed'))::int as completed`),
      db.raw('count(*)::int as ended'),
    );
  return { completed: row?.completed ?? 0, ended: row?.ended ?? 0 };
}

const cell = ({ id }: Pick<VersionRow, 'id'>, column: keyof VersionRow) => ({
  ...{ table: 'agent_versions', row: id, column },
});

export const measureOf = (row: Pick<VersionRow, 'id' | 'measure'>): Measure | null =>
  readJsonOrNull(measure, row.measure, cell(row, 'measure'));

const reportOf = (row: Pick<VersionRow, 'id' | 'report'>): TrialReport | null =>
  readJsonOrNull(trialReport, row.report, cell(row, 'report'));

export const patchOf = (row: Pick<VersionRow, 'id' | 'patch'>): readonly JsonObject[] =>
  objectsIn(readJson(jsonValue, row.patch, cell(row, 'patch')));

interface Outcomes {
  readonly completed: number;
  readonly ended: number;
}

export const versionViewOf = (row: VersionRow, counts: Outcomes): AgentVersion =>
  viewOfRow(row, { table: 'agent_versions', row: row.id }, (one) => shownVersion(one, counts));

const shownVersion = (row: VersionRow, counts: Outcomes): AgentVersion => ({
  ...{ id: row.id, agent: row.agent, version: row.version, baseHash: row.base_hash },
  ...{ definitionHash: row.definition_hash, status: row.status, share: row.share, measure: measureOf(row) },
  ...{
    patch: [...patchOf(row)],
    report: reportOf(row),
    reportDigest: row.report_digest,
    actor: row.actor,
    reason: row.reason,
    ...counts,
  },
  createdAt: row.created_at.toISOString(),
  appliedAt: row.applied_at?.toISOString() ?? null,
  endedAt: row.ended_at?.toISOString() ?? null,
});

/** How runs of a trial are, in no order. */
export const trialRunsOf = (
  db: Knex,
  tenant: string,
  ids: readonly string[],
): Promise<Pick<RunRow, 'id' | 'status' | 'output' | 'cost_nano_usd' | 'active_ms'>[]> =>
  runs(db)
    .where({ tenant })
    .whereIn('id', [...ids])
    .select('id', 'status', 'output', 'cost_nano_usd', 'active_ms');

/** The newest paused runs of an agent. */
export const pausedRunsOf = (db: Knex, tenant: string, agent: string, limit: number): Promise<string[]> =>
  runs(db).where({ tenant, agent, status: 'paused' }).orderBy('created_at', 'desc').limit(limit).pluck('id');

type Proposed = Pick<VersionRow, 'tenant' | 'id' | 'agent' | 'patch'>;

/**
 * Whether the log of its proposal says that a version was approved, with this patch. The log of an erased or removed run says nothing any
 * more; then its row does.
 */
export async function isApprovedInLog(db: Knex, version: Proposed): Promise<boolean> {
  const { tenant, id } = version;
  const key = await db<{ run_id: string; tenant: string }>('holdfast.run_keys').where({ run_id: id, tenant }).first();
  if (key === undefined) return isKnownLoss(db, id);
  try {
    return saysApproved(await readKeyedEvents(db, id, null), version);
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'log_broken') return false;
    throw error;
  }
}

const isKnownLoss = async (db: Knex, runId: string): Promise<boolean> =>
  (await db('holdfast.log_entries').where({ run_id: runId }).whereNotNull('loss').first('run_id')) !== undefined;

function saysApproved(log: readonly KeyedEvent[], { agent, patch }: Proposed): boolean {
  const of = <K extends EventKind>(kind: K): EventData<K>[] =>
    log.flatMap((event) => {
      const parsed = event.kind === kind ? EVENT_DATA[kind].safeParse(event.data) : null;
      return parsed?.success === true ? [parsed.data as EventData<K>] : [];
    });
  if (of('run.created')[0]?.agent !== EVOLUTION_AGENT) return false;
  const applied = new Set(
    of('call.checked').flatMap(({ tool, callId, arguments: given }) => {
      const { agent: about, patch: asked } = given as { readonly agent?: unknown; readonly patch?: unknown };
      return tool === APPLY_TOOL && about === agent && asked === patch ? [callId] : [];
    }),
  );
  return of('call.finished').some(({ callId, outcome }) => applied.has(callId) && outcome.type === 'output');
}
