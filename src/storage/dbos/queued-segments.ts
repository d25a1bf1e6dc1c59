import type { Knex } from 'knex';
import { NOW_MS } from '../database/columns.js';

/** How a worker takes a segment, as parts of statements. What they are given is SQL of a value, such as a parameter. */

/** The recording version that takes segments without one: that of the worker which was started last. Null: none was. */
export const newestVersionSql = (application: string): string => `(select version_name from dbos.application_versions
    where application_name = ${application} or application_name is null order by version_timestamp desc limit 1)`;

/** What a claim sets in the row `s` of `dbos.workflow_status`, as DBOS does. */
export const claimSql = (of: {
  readonly owner: string;
  readonly executor: string;
  readonly version: string;
  readonly application: string;
}): string => `status = 'PENDING', owner_xid = ${of.owner}, executor_id = ${of.executor}, application_version = ${of.version},
         started_at_epoch_ms = ${NOW_MS}, rate_limited = false, application_name = coalesce(s.application_name, ${of.application}),
         recovery_attempts = s.recovery_attempts + 1, updated_at = ${NOW_MS},
         workflow_deadline_epoch_ms = coalesce(s.workflow_deadline_epoch_ms, ${NOW_MS} + s.workflow_timeout_ms)`;

/** Cancels segments that wait in the queue. Nothing happens to one that a worker has taken: it finds its run over. */
export async function withdrawSegments(trx: Knex.Transaction, workflowIds: readonly string[]): Promise<void> {
  const now = trx.raw(NOW_MS);
  await trx('dbos.workflow_status')
    .whereRaw('workflow_uuid = any(?)', [[...workflowIds]])
    .where({ status: 'ENQUEUED' })
    .update({ status: 'CANCELLED', queue_name: null, started_at_epoch_ms: null, updated_at: now, completed_at: now });
}

/** Removes all that DBOS has of a segment that waits in the queue. False: a worker has taken it, and nothing is removed. */
export async function removeSegment(trx: Knex.Transaction, workflowId: string): Promise<boolean> {
  const of = { workflow_uuid: workflowId };
  const removed = await trx('dbos.workflow_status')
    .where({ ...of, status: 'ENQUEUED' })
    .delete();
  if (removed === 0) return false;
  for (const table of ['workflow_input', 'workflow_output', 'operation_outputs'])
    await trx(`dbos.${table}`).where(of).delete();
  return true;
}

/** Who takes a segment, and with which token. */
export interface Claim {
  readonly queue: string;
  readonly workflowId: string;
  readonly worker: { readonly id: string; readonly epoch: number };
  readonly owner: string;
  /** The recording version of this process, and the application that it belongs to. */
  readonly version: string;
  readonly application: string;
}

/**
 * Takes a segment out of the queue in the transaction that has put it in, as a look of the dispatcher would. False, and nothing is taken:
 * there are limits to keep, the worker is leaving, alone with a run or superseded, or segments go to workers of a newer version.
 */
export async function claimQueued(trx: Knex.Transaction, claim: Claim): Promise<boolean> {
  const { worker, ...bindings } = claim;
  const { rows }: { rows: object[] } = await trx.raw(
    `update dbos.workflow_status s
        set ${claimSql({ owner: ':owner', executor: ':id', version: ':version', application: ':application' })}
      where s.workflow_uuid = :workflowId and s.queue_name = :queue and s.status = 'ENQUEUED'
        and not exists (select from holdfast.dispatch_limits)
        and exists (select from holdfast.workers w where w.id = :id and w.epoch = :epoch and w.stopped_at is null
                       and w.stop_asked is null and w.leaving_at is null and w.alone_run_id is null)
        and coalesce(s.application_version, ${newestVersionSql(':application')}, :version) = :version
     returning 1`,
    { ...bindings, ...worker },
  );
  return rows.length > 0;
}

/** A segment on its way into the queue. */
export interface KeyedSegment {
  readonly runId: string;
  readonly segment: number;
  readonly workflowId: string;
  readonly key: string;
  readonly priority: number;
}

/** What the workflow of a segment is called with, as it is inside the text that DBOS keeps. */
const argumentsOf = ({ runId, segment }: KeyedSegment): string => JSON.stringify([runId, segment]);

/**
 * Puts segments into the queue as copies of one that was just put in: of all that DBOS has written of it. Gives the ids of those that
 * it has put in; one whose workflow is there already, or whose arguments DBOS keeps in another way, is not among them.
 */
export async function copySegment(
  trx: Knex.Transaction,
  first: KeyedSegment,
  others: readonly KeyedSegment[],
): Promise<ReadonlySet<string>> {
  const given = others.map((one) => ({
    ...{
      given_id: one.workflowId,
      given_priority: one.priority,
      given_key: one.key,
      given_arguments: argumentsOf(one),
    },
  }));
  const { rows }: { rows: { workflow_uuid: string }[] } = await trx.raw(
    `with given as (
       select * from json_to_recordset(cast(:given as json))
                  as g(given_id text, given_priority int, given_key text, given_arguments text)),
     first as (
       select s, i.inputs from dbos.workflow_status s join dbos.workflow_input i on i.workflow_uuid = s.workflow_uuid
        where s.workflow_uuid = :first and s.status = 'ENQUEUED' and position(:arguments in i.inputs) > 0),
     queued as (
       insert into dbos.workflow_status
       select made.* from first, given, json_populate_record(first.s, json_build_object(
                'workflow_uuid', given_id, 'priority', given_priority, 'queue_partition_key', given_key,
                'creator_xid', gen_random_uuid())) made
           on conflict do nothing returning workflow_uuid)
     insert into dbos.workflow_input (workflow_uuid, inputs)
     select given_id, replace(first.inputs, :arguments, given_arguments) from first, given
      where given_id in (select workflow_uuid from queued)
         on conflict do nothing returning workflow_uuid`,
    { given: JSON.stringify(given), first: first.workflowId, arguments: argumentsOf(first) },
  );
  return new Set(rows.map(({ workflow_uuid: id }) => id));
}
