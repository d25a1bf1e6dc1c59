import type { Knex } from 'knex';
import { NOW_MS } from '../database/clock.js';
import { OLD } from '../queue/workers.js';
import { hasSegments } from './takeover.js';
import { runIdSql, segmentSql } from './workflow-id.js';

/** A segment in the queue of which a part was recorded under a recording version before the present one. */
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
  { workflow, version, limit }: { readonly workflow: string; readonly version: number; readonly limit: number },
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
      where v.version < :version
        and not exists (select from holdfast.workers w where w.recording_version = v.version and ${TAKES})
      order by s.created_at
      limit :limit`,
    { workflow, version, limit },
  );
  return rows;
}

/** Takes a segment out of the queue for good. False: somebody has taken it. */
export async function cancelQueued(trx: Knex.Transaction, { workflowId, version }: OlderSegment): Promise<boolean> {
  const now = trx.raw(NOW_MS);
  const cancelled = await trx('dbos.workflow_status')
    .where({ workflow_uuid: workflowId, status: 'ENQUEUED', application_version: String(version) })
    .update({ status: 'CANCELLED', completed_at: now, updated_at: now });
  return cancelled > 0;
}
