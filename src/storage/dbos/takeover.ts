import type { Knex } from 'knex';
import { boundsOf, type Crashes, HEARTBEAT_OLD_MS, SUSPECT_AFTER } from '../../core/queue/worker.js';
import { NOW_MS } from '../database/columns.js';
import { keyWithEngineSql } from '../queue/run-engines.js';
import { deleteNotesOfLeaving } from '../queue/work-notes.js';
import { lockWorker } from '../queue/workers.js';
import { runIdSql, segmentSql } from './workflow-id.js';

/** A worker id under which segments are at work. */
export interface Holder {
  readonly id: string;
  /** Its last heartbeat, to be compared and no more; null: it has left, or no one knows it. */
  readonly heartbeat: string | null;
}

/** Whether DBOS has made its tables: it does so at the first launch. */
export async function hasSegments(db: Knex): Promise<boolean> {
  const { rows } = await db.raw(`select to_regclass('dbos.workflow_status') is not null as made`);
  return rows[0].made;
}

/** Under which other worker ids segments are at work. */
export async function holdersOfSegments(db: Knex, workflow: string, self: string): Promise<readonly Holder[]> {
  const { rows }: { rows: Holder[] } = await db.raw(
    `select s.executor_id as id, case when w.stopped_at is null then w.heartbeat_at::text end as heartbeat
       from (select distinct executor_id from dbos.workflow_status
              where status = 'PENDING' and name = ? and executor_id <> ?) s
       left join holdfast.workers w on w.id = s.executor_id`,
    [workflow, self],
  );
  return rows;
}

/** Workflow ids of segments that are at work under a worker id. */
export async function segmentsOfWorker(db: Knex, workflow: string, worker: string): Promise<readonly string[]> {
  const pending = db('dbos.workflow_status').where({ status: 'PENDING', name: workflow, executor_id: worker });
  return pending.pluck('workflow_uuid');
}

/**
 * Puts segments back into the queue that a worker still has, and no one executes there. What may be left of them records nothing. Does
 * nothing in a process that a newer one has superseded: the segments are at work in the newer one. Returns their ids.
 */
export async function requeue(
  db: Knex,
  { id: worker, epoch }: { readonly id: string; readonly epoch: number },
  ids: readonly string[],
): Promise<readonly string[]> {
  const now = db.raw(NOW_MS);
  const rows: { workflow_uuid: string }[] = await db('dbos.workflow_status')
    .where({ status: 'PENDING', executor_id: worker })
    .whereIn('workflow_uuid', [...ids])
    .whereExists(db('holdfast.workers').where({ id: worker, epoch }).select(db.raw('1')))
    .update({
      ...{ status: 'ENQUEUED', owner_xid: null, started_at_epoch_ms: null, updated_at: now },
      queue_partition_key: db.raw(keyWithEngineSql('queue_partition_key', runIdSql('workflow_uuid'))),
    })
    .returning('workflow_uuid');
  return rows.map(({ workflow_uuid: id }) => id);
}

/** A segment that a dead worker left behind. */
export interface LeftSegment {
  readonly runId: string;
  readonly segment: number;
  /** How often a worker has died with it since its last step. */
  readonly crashes: number;
  /** Whether that is too often: it is not executed again. */
  readonly givenUp: boolean;
}

const LEFT = `
  select workflow_uuid, ${runIdSql('workflow_uuid')} as run_id,
         ${segmentSql('workflow_uuid')} as segment,
         (select count(*)::int from dbos.operation_outputs o where o.workflow_uuid = s.workflow_uuid) as steps
    from dbos.workflow_status s
   where status = 'PENDING' and name = :workflow and executor_id = :worker`;

export interface Takeover {
  readonly worker: string;
  /** Name of the workflow of segments. */
  readonly workflow: string;
  /** How often a segment may take a worker with it, without a step in between, before it is given up. */
  readonly crashLimit: number;
}

/**
 * Puts the segments that a worker left behind back into the queue, with their owner removed: what is left of that worker can
 * record nothing any more. They stay of their recording version. To be called by the code that holds the lock of the worker, in the
 * transaction that raises its epoch. The same as DBOS does at a launch for its own executor id, and besides that every segment is counted that was at work when
 * the worker died; where one had the worker to itself, that one alone.
 */
export async function takeSegments(trx: Knex.Transaction, takeover: Takeover): Promise<readonly LeftSegment[]> {
  if (!(await hasSegments(trx))) return [];
  await clearSuspects(trx, takeover);
  await countCrashes(trx, takeover);
  const { rows }: { rows: LeftSegment[] } = await trx.raw(
    `with left_behind as (${LEFT}),
          judged as (
            select l.workflow_uuid, l.run_id, l.segment, coalesce(c.crashes, 0) as crashes,
                   coalesce((c.crashes >= :limit and c.alone >= :alone) or c.crashes >= :most, false) as given_up
              from left_behind l
              left join holdfast.crashes c on c.run_id = l.run_id and c.segment = l.segment and c.steps = l.steps),
          moved as (
            update dbos.workflow_status s
               set status = case when given_up then 'CANCELLED' else 'ENQUEUED' end,
                   completed_at = case when given_up then ${NOW_MS} end,
                   owner_xid = null, started_at_epoch_ms = null,
                   queue_partition_key = ${keyWithEngineSql('s.queue_partition_key', 'j.run_id')},
                   updated_at = ${NOW_MS}
              from judged j
             where s.workflow_uuid = j.workflow_uuid)
     select run_id as "runId", segment, crashes, given_up as "givenUp" from judged order by run_id`,
    { ...takeover, ...boundsOf(takeover.crashLimit) },
  );
  return rows;
}

/** Workers that died though no one had asked them to stop. */
const DIED = 'w.stopped_at is null and w.leaving_at is null and w.stop_asked is null';

/**
 * A worker that has left by itself did not crash, one that was leaving was ended from outside, and a segment that its run has left behind
 * has ended but for its own record: a worker may have that one and the present one. A suspect that dies without being alone had begun
 * no step: something else ends workers, and its deaths alone count from the beginning.
 */
const countCrashes = (trx: Knex.Transaction, takeover: Takeover): Promise<unknown> =>
  trx.raw(
    `insert into holdfast.crashes as c (run_id, tenant, segment, steps, crashes, alone, worker)
     select l.run_id, r.tenant, l.segment, l.steps, 1, 0, w.id
       from (${LEFT}) l
       join holdfast.runs r on r.id = l.run_id and r.segment = l.segment
       join holdfast.workers w on w.id = :worker and ${DIED} and coalesce(w.alone_run_id, l.run_id) = l.run_id
     on conflict (run_id) do update
        set crashes = case when c.segment = excluded.segment and c.steps = excluded.steps then c.crashes + 1 else 1 end,
            alone = case when c.segment = excluded.segment and c.steps = excluded.steps and c.crashes >= ${SUSPECT_AFTER}
                          and (select alone_run_id from holdfast.workers where id = :worker) = excluded.run_id
                         then c.alone + 1 else 0 end,
            segment = excluded.segment, steps = excluded.steps, worker = excluded.worker, crashed_at = now()`,
    { ...takeover },
  );

/** A worker that died with no suspect alone in it, and without some others: what ended it may be what ended theirs. */
const clearSuspects = (trx: Knex.Transaction, takeover: Takeover): Promise<unknown> =>
  trx.raw(
    `update holdfast.crashes c set alone = 0
       from holdfast.workers w
      where w.id = :worker and ${DIED} and w.alone_run_id is null
        and c.alone > 0 and c.run_id not in (select run_id from (${LEFT}) l)`,
    { ...takeover },
  );

/**
 * Whether a worker has left, or its heartbeat is old, or of a time that is still to come: then the clock was set back since, and
 * no one has written it again. One that no one knows is gone, too.
 */
export async function isGone(db: Knex, id: string): Promise<boolean> {
  const old = `stopped_at is not null or abs(extract(epoch from now() - heartbeat_at)) * 1000 > ${HEARTBEAT_OLD_MS}`;
  const row = await db('holdfast.workers')
    .where({ id })
    .first(db.raw(`${old} as gone`));
  return row?.gone ?? true;
}

/**
 * Ends the connections of the one that was this worker before: a process that hangs in the middle of a transaction would
 * hold its row locks. What is not allowed to us the idle timeout of the server does. To be called by the code that holds its lock.
 */
export async function endSessions(db: Knex, id: string): Promise<void> {
  await db
    .raw(
      `select pg_terminate_backend(a.pid) from holdfast.workers w
         join pg_stat_activity a on a.application_name = w.session and a.datname = current_database()
        where w.id = ? and w.session is not null`,
      [id],
    )
    .catch(() => undefined);
}

/** Raises the epoch of a worker, so that no process of the present one has an effect any more. */
export async function fence(trx: Knex.Transaction, id: string): Promise<void> {
  await lockWorker(trx, id);
  await deleteNotesOfLeaving(trx, id);
  await trx('holdfast.workers')
    .where({ id })
    .update({ epoch: trx.raw('epoch + 1') });
}

/** How often workers have died with a segment since its last step. */
export async function crashesOf(db: Knex, runId: string, segment: number): Promise<Crashes> {
  const row = await db('holdfast.crashes').where({ run_id: runId, segment }).first('crashes', 'alone');
  return row ?? { crashes: 0, alone: 0 };
}
