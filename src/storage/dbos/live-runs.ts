import type { Knex } from 'knex';
import type { RunStatus } from '../../core/runs/run.js';
import { hasSegments } from './takeover.js';
import { workflowIdSql } from './workflow-id.js';

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
