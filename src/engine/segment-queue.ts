import type { DBOSClient } from '@dbos-inc/dbos-sdk';
import type { Knex } from 'knex';
import type { SegmentQueue } from '../../steps/world.js';
import { SEGMENT_WORKFLOW } from '../../workflows/agent-run.js';
import { rawConnection } from '../storage/raw-connection.js';
import { wakeDispatcher } from './dispatcher-door.js';

export const SEGMENT_QUEUE = 'holdfast.segments';
export const WAKE_CHANNEL = 'holdfast_wake';

/** A slot is released a moment after a workflow returns; these are the moments at which one looks again. */
const RELEASE_DELAYS_MS = [0, 2, 8, 30];

export const workflowIdOf = (runId: string, segment: number): string => (segment === 0 ? runId : `${runId}:${segment}`);

/** The queue of segments. They carry no application version, so that any build may run them. */
export function segmentQueue(client: () => DBOSClient): SegmentQueue {
  const wake = (): void => {
    for (const delay of RELEASE_DELAYS_MS) setTimeout(() => wakeDispatcher(SEGMENT_QUEUE), delay).unref();
  };
  const enqueue: SegmentQueue['enqueue'] = async (trx: Knex.Transaction, { runId, segment, priority }) => {
    const connection = await rawConnection(trx);
    await client().enqueueInTransaction(
      connection,
      {
        queueName: SEGMENT_QUEUE,
        workflowName: SEGMENT_WORKFLOW,
        workflowID: workflowIdOf(runId, segment),
        priority,
      },
      runId,
      segment,
    );
    await trx.raw('select pg_notify(?, ?)', [WAKE_CHANNEL, 'queue']);
  };
  return { enqueue, wake };
}
