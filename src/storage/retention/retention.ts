import type { Knex } from 'knex';
import { type RetentionRule, type RuleStatus, statusesOf, type Trimmed } from '../../core/retention/retention.js';
import { OVER } from '../../core/runs/run.js';
import { runIdSql, segmentSql } from '../dbos/workflow-id.js';

/** The place of a run among those that a rule takes: what comes after it was not looked at yet. */
export interface PlaceInRule {
  readonly at: string;
  readonly id: string;
}

const DUE = "now() - ? * interval '1 day'";

function underRule(db: Knex, rule: RetentionRule): Knex.QueryBuilder {
  const { olderThanDays, tenant, agent } = rule;
  const query = db('holdfast.runs')
    .whereIn('status', [...statusesOf(rule)])
    .whereNotNull('completed_at')
    .whereRaw(`completed_at < ${DUE}`, [olderThanDays]);
  if (rule.do === 'erase') query.whereNull('erased_at');
  if (tenant !== undefined) query.where({ tenant });
  if (agent !== undefined) query.where({ agent });
  return query;
}

/** Runs that a rule takes, those first that were over first, after a place. */
export async function runsOfRule(
  db: Knex,
  rule: RetentionRule & RuleStatus,
  after: PlaceInRule | null,
  limit: number,
): Promise<PlaceInRule[]> {
  const query = underRule(db, rule)
    .orderBy(['completed_at', 'id'])
    .limit(limit)
    .select('id', db.raw('completed_at::text as at'));
  if (after !== null) query.whereRaw('(completed_at, id) > (?::timestamptz, ?)', [after.at, after.id]);
  return query;
}

/** How many runs of a tenant, or of all of them (null), a rule takes; it counts no further than `most`. */
export async function countOfRule(db: Knex, rule: RetentionRule, tenant: string | null, most: number): Promise<number> {
  const taken = underRule(db, rule);
  if (tenant !== null) taken.where({ tenant });
  const found = taken.limit(most).select('id').as('found');
  const [row] = await db.from(found).count({ n: '*' });
  return Number(row?.['n'] ?? 0);
}

/**
 * Segments and exports that DBOS is not asked about any more: the run or export is gone or over, or the run has left the segment
 * behind. What a run needs to go on is its log, its snapshot and its present segment.
 */
const RECORDINGS = `
  select s.workflow_uuid as id from dbos.workflow_status s
    left join holdfast.runs r on r.id = ${runIdSql('s.workflow_uuid')}
    left join holdfast.exports e on e.id = s.workflow_uuid
   where s.name = any(:workflows) and s.status in ('SUCCESS', 'ERROR', 'CANCELLED')
     and s.completed_at < (extract(epoch from now()) * 1000)::bigint - :days::bigint * 86400000
     and (r.id is null or r.status = any(:over) or ${segmentSql('s.workflow_uuid')} < r.segment)
     and (e.id is null or e.status = any(:over))`;

/** More events of the system than this are not kept, however young they are. */
const SYSTEM_EVENTS_MAX = 1_000_000;

/** Rows that are older than some days, of one tenant or of all. Of events of the system the oldest are looked at: they go in their order. */
const OLD: { readonly [what in Exclude<Trimmed, 'recordings'>]: string } = {
  accessLog: `select id from holdfast.access_log where at < now() - :days * interval '1 day'`,
  idempotencyKeys: `select tenant, operation, key from holdfast.idempotency_keys
                     where created_at < now() - :days * interval '1 day'`,
  exports: `select id from holdfast.exports where completed_at < now() - :days * interval '1 day'`,
  systemEvents: `select position from (select position, at, tenant from holdfast.system_events
                    where position is not null order by position limit :limit) oldest
                  where (at < now() - :days * interval '1 day'
                     or position <= (select position - ${SYSTEM_EVENTS_MAX} from holdfast.system_event_head))`,
};

const OF_TENANT = 'and (:tenant::text is null or tenant = :tenant)';

const DELETIONS: { readonly [what in keyof typeof OLD]: string } = {
  accessLog: `delete from holdfast.access_log where id in (${OLD.accessLog} ${OF_TENANT} order by at limit :limit)`,
  idempotencyKeys: `delete from holdfast.idempotency_keys
    where (tenant, operation, key) in (${OLD.idempotencyKeys} ${OF_TENANT} order by created_at limit :limit)`,
  exports: `delete from holdfast.exports where id in (${OLD.exports} ${OF_TENANT} order by completed_at limit :limit)`,
  // In the order of all tenants: readers are told how far it is gone.
  systemEvents: `with gone as (
      delete from holdfast.system_events where position in (${OLD.systemEvents}) returning position),
    trimmed as (
      update holdfast.system_event_head set trimmed = greatest(trimmed, (select max(position) from gone))
       where exists (select from gone))
    select from gone`,
};

interface Trimming {
  readonly days: number;
  /** Null: of all tenants. */
  readonly tenant: string | null;
  readonly limit: number;
  /** Names of the workflows of segments and of exports. Both are over in the same words. */
  readonly workflows: readonly string[];
}

const bound = ({ days, limit, workflows, tenant }: Trimming) => ({
  ...{ days, limit, tenant, workflows: [...workflows], over: [...OVER] },
});

const RECORDINGS_OF_TENANT = '(:tenant::text is null or coalesce(r.tenant, e.tenant) = :tenant)';

/** Removes some of what DBOS recorded and no one needs, the oldest first. Gives how many segments and exports went. */
export async function trimRecordings(db: Knex, trimming: Trimming): Promise<number> {
  return db.transaction(async (trx) => {
    const { rows }: { rows: { id: string }[] } = await trx.raw(
      `${RECORDINGS} and ${RECORDINGS_OF_TENANT} order by s.completed_at limit :limit for update of s skip locked`,
      bound(trimming),
    );
    const ids = rows.map(({ id }) => id);
    for (const table of ['workflow_input', 'workflow_output', 'operation_outputs', 'workflow_status'])
      await trx.raw('delete from dbos.?? where workflow_uuid = any(?)', [table, ids]);
    return ids.length;
  });
}

/** Removes some rows that are too old, the oldest first. Gives how many went. */
export async function trimRows(db: Knex, what: Exclude<Trimmed, 'recordings'>, trimming: Trimming): Promise<number> {
  const { rowCount }: { rowCount: number } = await db.raw(DELETIONS[what], bound(trimming));
  return rowCount;
}

/** How many rows would be trimmed; it counts no further than the limit. */
export async function countToTrim(db: Knex, what: Trimmed, trimming: Trimming): Promise<number> {
  const of = what === 'recordings' ? `${RECORDINGS} and ${RECORDINGS_OF_TENANT}` : `${OLD[what]} ${OF_TENANT}`;
  const { rows } = await db.raw(`select count(*)::int as n from (${of} limit :limit) found`, bound(trimming));
  return rows[0].n;
}
