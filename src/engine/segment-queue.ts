import type { DBOSClient } from '@dbos-inc/dbos-sdk';
import type { Knex } from 'knex';
import type { SegmentQueue } from '../../steps/world.js';
import { SEGMENT_WORKFLOW } from '../../workflows/agent-run.js';
import { queueKey, queuePriority } from '../core/dispatch.js';
import { keyOfRun, type LimitedNames, namesAnything } from '../storage/limited-names.js';
import { removeSegment, withdrawSegment } from '../storage/queued-segments.js';
import { rawConnection } from '../storage/raw-connection.js';
import { workflowIdOf } from '../storage/workflow-id.js';
import type { Looks } from './looks.js';

export const SEGMENT_QUEUE = 'holdfast.segments';
export const WAKE_CHANNEL = 'holdfast_wake';

/**
 * The queue of segments. They carry no application version, so that any build may run them. Whoever puts one in wakes this process
 * when that is committed; `self` is what the others hear then.
 */
export function segmentQueue(
  client: () => DBOSClient,
  { looks, self, limited }: { readonly looks: Looks; readonly self: string; readonly limited: LimitedNames },
): SegmentQueue {
  const enqueue: SegmentQueue['enqueue'] = async (trx: Knex.Transaction, { run, segment, band }) => {
    const key = namesAnything(limited) ? await keyOfRun(trx, run.id, limited) : queueKey(run.tenant, run.agent);
    const options = {
      queueName: SEGMENT_QUEUE,
      workflowName: SEGMENT_WORKFLOW,
      workflowID: workflowIdOf(run.id, segment),
      priority: queuePriority(band, run.priority),
      queuePartitionKey: key,
    };
    await Promise.all([
      rawConnection(trx, (connection) => client().enqueueInTransaction(connection, options, run.id, segment)),
      trx.raw('select pg_notify(?, ?)', [WAKE_CHANNEL, self]),
    ]);
  };
  return {
    enqueue,
    withdraw: (trx, { runId, segment }) => withdrawSegment(trx, workflowIdOf(runId, segment)),
    remove: (trx, { runId, segment }) => removeSegment(trx, workflowIdOf(runId, segment)),
    wake: looks.wake,
  };
}
