import type { DBOSClient } from '@dbos-inc/dbos-sdk';
import type { Knex } from 'knex';
import type { SegmentQueue } from '../../steps/world.js';
import { SEGMENT_WORKFLOW } from '../../workflows/agent-run.js';
import { queueKey, queuePriority } from '../core/dispatch.js';
import { removeSegment, withdrawSegment } from '../storage/queued-segments.js';
import { rawConnection } from '../storage/raw-connection.js';
import { workflowIdOf } from '../storage/workflow-id.js';
import { wakeDispatcher } from './dispatcher-door.js';

export const SEGMENT_QUEUE = 'holdfast.segments';
export const WAKE_CHANNEL = 'holdfast_wake';

/**
 * The moments after the look that a wake takes, at which the dispatcher looks again, in milliseconds between them: a slot is released a moment
 * after a workflow returns, and a look that is under way when it is woken does not look once more by itself.
 */
const LOOKS_MS = [2, 8, 30, 100, 300];

/** The queue of segments. They carry no application version, so that any build may run them. */
export function segmentQueue(client: () => DBOSClient): SegmentQueue {
  const wake = oneChainOf(() => wakeDispatcher(SEGMENT_QUEUE));
  const enqueue: SegmentQueue['enqueue'] = async (trx: Knex.Transaction, { run, segment, band }) => {
    const options = {
      queueName: SEGMENT_QUEUE,
      workflowName: SEGMENT_WORKFLOW,
      workflowID: workflowIdOf(run.id, segment),
      priority: queuePriority(band, run.priority),
      queuePartitionKey: queueKey(run.tenant, run.agent),
    };
    await Promise.all([
      rawConnection(trx, (connection) => client().enqueueInTransaction(connection, options, run.id, segment)),
      trx.raw('select pg_notify(?, ?)', [WAKE_CHANNEL, 'queue']),
    ]);
  };
  return {
    enqueue,
    withdraw: (trx, { runId, segment }) => withdrawSegment(trx, workflowIdOf(runId, segment)),
    remove: (trx, { runId, segment }) => removeSegment(trx, workflowIdOf(runId, segment)),
    wake,
  };
}

/** However often it is woken, there is one chain of looks, which begins anew, with one at once. */
function oneChainOf(look: () => void): () => void {
  let next = 0;
  let timer: NodeJS.Timeout | undefined;
  const go = (): void => {
    const delay = LOOKS_MS[next++];
    timer = delay === undefined ? undefined : setTimeout(lookAndGo, delay).unref();
  };
  const lookAndGo = (): void => {
    look();
    go();
  };
  return () => {
    clearTimeout(timer);
    next = 0;
    lookAndGo();
  };
}
