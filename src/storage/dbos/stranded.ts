import type { Knex } from 'knex';
import { workflowIdSql } from './workflow-id.js';

export interface StrandedRun {
  readonly id: string;
  readonly segment: number;
  /** Status of its workflow; null: there is none. */
  readonly workflow: string | null;
}

/** Runs that should work but whose segment is in error, cancelled, dead-lettered, over or missing, for some seconds. */
export async function strandedRuns(db: Knex, limit: number): Promise<(StrandedRun & { readonly since: Date })[]> {
  const found: { rows: (StrandedRun & { readonly since: Date })[] } = await db.raw(
    `select r.id, r.segment, w.status as workflow, r.updated_at as since
       from holdfast.runs r
       left join dbos.workflow_status w
         on w.workflow_uuid = ${workflowIdSql('r')}
      where r.status in ('queued', 'running')
        and r.updated_at < now() - interval '5 seconds'
        and (w.status is null or w.status not in ('ENQUEUED', 'PENDING', 'DELAYED'))
      order by r.updated_at
      limit ?`,
    [limit],
  );
  return found.rows;
}
