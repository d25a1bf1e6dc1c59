import type { Knex } from 'knex';
import { newestVersionSql } from './queued-segments.js';
import { workflowIdSql } from './workflow-id.js';

/** Living workers write a heartbeat each second, and take over what was left three seconds ago. */
const SILENT = `interval '10 seconds'`;

/**
 * A run whose segment is stuck. `left`: it is at work under a worker that is silent, has stopped or is unknown. `foreign`: it
 * was recorded by a newer build, and no worker of that version lives. `queued`: it waits, and no worker lives.
 */
export interface Stray {
  readonly kind: 'left' | 'foreign' | 'queued';
  readonly runId: string;
  readonly segment: number;
  /** The last that was heard of its worker, or when the segment was last moved. */
  readonly since: Date;
  /** Under which it is at work; null: none. */
  readonly worker: string | null;
  /** Under which it was recorded; null: under none yet. */
  readonly version: string | null;
  /** How many there are of this kind, worker and version. */
  readonly count: number;
}

/** How many workers live that execute segments. */
export async function livingWorkers(db: Knex): Promise<number> {
  const { rows } = await db.raw(
    `select count(*)::int as n from holdfast.workers
      where stopped_at is null and heartbeat_at > now() - ${SILENT} and role <> 'api'`,
  );
  return rows[0].n;
}

/** Strays of every kind, worker and version, at most `limit` of each, oldest first. */
export async function straysOf(db: Knex, version: number, limit: number): Promise<Stray[]> {
  const { rows }: { rows: Stray[] } = await db.raw(
    `with open as (
       select r.id as "runId", r.segment, s.status, s.application_version as version,
              case when s.status = 'PENDING' then s.executor_id end as worker,
              coalesce(w.heartbeat_at, to_timestamp(s.updated_at / 1000.0)) as since,
              s.status = 'PENDING' and w.stopped_at is null and w.heartbeat_at > now() - ${SILENT} as held
         from holdfast.runs r
         join dbos.workflow_status s
           on s.workflow_uuid = ${workflowIdSql('r')}
         left join holdfast.workers w on w.id = s.executor_id and s.status = 'PENDING'
        where r.status in ('queued', 'running') and s.status in ('ENQUEUED', 'PENDING', 'DELAYED')),
     judged as (
       select *, case when not (version ~ '^[0-9]{1,9}$' and version::numeric <= :version)
                       and not exists (select from holdfast.workers o
                                        where o.recording_version::text = version and o.role <> 'api'
                                          and o.stopped_at is null and o.heartbeat_at > now() - ${SILENT}) then 'foreign'
                      when status = 'PENDING' then 'left'
                      when :living = 0 then 'queued' end as kind
         from open where held is not true),
     ranked as (
       select *, count(*) over same as count, row_number() over (partition by kind, worker, version order by since) as nth
         from judged where kind is not null
       window same as (partition by kind, worker, version))
     select kind, "runId", segment, since, worker, version, count::int from ranked
      where nth <= :limit order by kind, worker, version, since`,
    { version, limit, living: await livingWorkers(db) },
  );
  return rows;
}

/** The recording version whose workers take segments that have none; null: no engine was started on this database. */
export async function newestVersion(db: Knex, application: string): Promise<string | null> {
  const { rows } = await db.raw(`select ${newestVersionSql(':application')} as version`, { application });
  return rows[0]?.version ?? null;
}

export interface StrandedRun {
  readonly id: string;
  readonly segment: number;
  /** Status of its workflow; null: there is none. */
  readonly workflow: string | null;
}

/** Runs that should work but whose segment is in error, cancelled, dead-lettered, over or missing, for some seconds. */
export async function strandedRuns(
  db: Knex,
  except: readonly string[],
  limit: number,
): Promise<(StrandedRun & { readonly since: Date })[]> {
  const found: { rows: (StrandedRun & { readonly since: Date })[] } = await db.raw(
    `select r.id, r.segment, w.status as workflow, r.updated_at as since
       from holdfast.runs r
       left join dbos.workflow_status w
         on w.workflow_uuid = ${workflowIdSql('r')}
      where r.status in ('queued', 'running')
        and r.updated_at < now() - interval '5 seconds'
        and (w.status is null or w.status not in ('ENQUEUED', 'PENDING', 'DELAYED'))
        and r.id <> all(?::text[])
      order by r.updated_at
      limit ?`,
    [[...except], limit],
  );
  return found.rows;
}
