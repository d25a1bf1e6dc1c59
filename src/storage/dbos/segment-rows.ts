import type { Knex } from 'knex';
import type { RunStatus } from '../../core/runs/run.js';
import { NOW_MS } from '../database/columns.js';
import { inOneFlight } from '../database/transactions.js';
import { OLD } from '../queue/workers.js';
import { familyOf, lockFamily } from '../runs/families.js';
import type { RunRow } from '../runs/run-row.js';
import { hasSegments } from './takeover.js';
import { runIdSql, segmentSql, workflowIdOf, workflowIdSql } from './workflow-id.js';

/** Tables of DBOS that hold what was recorded of a workflow, and do not go with its status. */
const RECORDED = ['workflow_input', 'workflow_output', 'operation_outputs'];

const segmentsOf = (run: Pick<RunRow, 'id' | 'segment'>): string[] =>
  Array.from({ length: run.segment + 1 }, (_, segment) => workflowIdOf(run.id, segment));

/**
 * Removes all that DBOS has of the segments of a run that is over. False: one of them is still being executed, and nothing is
 * removed; it has its last step to record, or its worker has died and no one has taken it over yet.
 */
export async function removeSegments(trx: Knex.Transaction, run: Pick<RunRow, 'id' | 'segment'>): Promise<boolean> {
  const ids = segmentsOf(run);
  const { rows }: { rows: { status: string }[] } = await trx.raw(
    'select status from dbos.workflow_status where workflow_uuid = any(?) order by workflow_uuid for update',
    [ids],
  );
  if (rows.some(({ status }) => status === 'PENDING')) return false;
  for (const table of [...RECORDED, 'workflow_status'])
    await trx.raw('delete from dbos.?? where workflow_uuid = any(?)', [table, ids]);
  return true;
}

/** Whether a worker has a segment of the run, living or dead. */
export async function hasWorkingSegment(db: Knex, run: Pick<RunRow, 'id' | 'segment'>): Promise<boolean> {
  const { rows }: { rows: object[] } = await db.raw(
    "select from dbos.workflow_status where workflow_uuid = any(?) and status = 'PENDING' limit 1",
    [segmentsOf(run)],
  );
  return rows.length > 0;
}

/** Whether a segment has recorded a step of this name. */
export async function hasStep(db: Knex, workflowId: string, name: string): Promise<boolean> {
  const step = await db('dbos.operation_outputs')
    .where({ workflow_uuid: workflowId, function_name: name })
    .first('function_id');
  return step !== undefined;
}

/** A run that is not over, and the recording version of its segment; null: nothing of it is recorded. */
export interface LiveRun {
  readonly id: string;
  readonly tenant: string;
  readonly agent: string;
  readonly status: RunStatus;
  readonly segment: number;
  readonly version: string | null;
}

const NOT_OVER = `r.status in ('queued', 'running', 'paused')`;

export async function countLiveRuns(db: Knex): Promise<number> {
  const { rows } = await db.raw(`select count(*)::int as n from holdfast.runs r where ${NOT_OVER}`);
  return rows[0].n;
}

/** Runs of all tenants that are not over, by their ids, after one of them ('': from the first). */
export async function liveRuns(db: Knex, after: string, limit: number): Promise<LiveRun[]> {
  const recorded = (await hasSegments(db))
    ? `(select s.application_version from dbos.workflow_status s
         where s.workflow_uuid = ${workflowIdSql('r')} and s.status in ('ENQUEUED', 'PENDING', 'DELAYED'))`
    : 'null';
  const { rows } = await db.raw(
    `select r.id, r.tenant, r.agent, r.status, r.segment, ${recorded} as version
       from holdfast.runs r where ${NOT_OVER} and r.id > ? order by r.id limit ?`,
    [after, limit],
  );
  return rows;
}

/** A segment in the queue with a part that was recorded under an earlier recording version. */
export interface OlderSegment {
  readonly workflowId: string;
  readonly runId: string;
  readonly segment: number;
  readonly version: number;
}

/** Workers that take segments of their recording version from the queue. */
const TAKES = `role <> 'api' and stopped_at is null and stop_asked is null
     and heartbeat_at >= now() - ${OLD}`;

/** Segments in the queue of recording versions before `version`, for which no worker of their version lives. */
export async function olderSegments(
  db: Knex,
  {
    except,
    ...terms
  }: {
    readonly workflow: string;
    readonly version: number;
    /** Their workflow ids. */
    readonly except: readonly string[];
    readonly limit: number;
  },
): Promise<readonly OlderSegment[]> {
  if (!(await hasSegments(db))) return [];
  const { rows }: { rows: OlderSegment[] } = await db.raw(
    `with versions as materialized (
       select v::int as version from (
         select distinct application_version as v from dbos.workflow_status
          where status = 'ENQUEUED' and name = :workflow and application_version is not null) queued
        where v ~ '^[0-9]{1,9}$')
     select workflow_uuid as "workflowId", v.version,
            ${runIdSql('workflow_uuid')} as "runId", ${segmentSql('workflow_uuid')} as segment
       from versions v
       join dbos.workflow_status s
         on s.status = 'ENQUEUED' and s.name = :workflow and s.application_version = v.version::text
      where v.version < :version and workflow_uuid <> all(:except::text[])
        and not exists (select from holdfast.workers w where w.recording_version = v.version and ${TAKES})
      order by s.created_at
      limit :limit`,
    { ...terms, except: [...except] },
  );
  return rows;
}

/** Takes a segment out of the queue for good. False: someone has taken it. */
export async function cancelQueued(trx: Knex.Transaction, { workflowId, version }: OlderSegment): Promise<boolean> {
  const now = trx.raw(NOW_MS);
  const cancelled = await trx('dbos.workflow_status')
    .where({ workflow_uuid: workflowId, status: 'ENQUEUED', application_version: String(version) })
    .update({ status: 'CANCELLED', completed_at: now, updated_at: now });
  return cancelled > 0;
}

/** An execution of a workflow: it owns the workflow as long as its token stands in the row. */
export interface Execution {
  readonly workflowId: string;
  readonly owner: string;
}

/**
 * `lockFamily` for an execution of a segment. `lost`: another one has taken the segment over, and this one may write nothing of
 * the run.
 */
export async function lockFamilyFor(
  trx: Knex.Transaction,
  id: string,
  execution: Execution | null,
): Promise<RunRow | undefined | 'lost'> {
  if (execution === null) return lockFamily(trx, id);
  const statements = [...familyOf(trx, id), heldBy(trx, execution)] as const;
  const [, [run], held] = await inOneFlight<[object, RunRow, object]>(trx, statements);
  return held.length === 0 ? 'lost' : run;
}

/** Holds the row of a workflow until the transaction ends, if it is still of this execution. No row: another one has taken it over. */
const heldBy = (trx: Knex.Transaction, { workflowId, owner }: Execution) =>
  trx('dbos.workflow_status')
    .where({ workflow_uuid: workflowId, owner_xid: owner })
    .forNoKeyUpdate()
    .select('workflow_uuid');
