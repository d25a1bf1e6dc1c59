import type { DBOSClient } from '@dbos-inc/dbos-sdk';
import type { Knex } from 'knex';
import type { SegmentQueue } from '../../../steps/context.js';
import { queueKey, queuePriority } from '../../core/queue/dispatch.js';
import { wakeText } from '../../core/queue/wake.js';
import { SEGMENT_WORKFLOW } from '../../core/runs/run.js';
import { rawConnection } from '../../storage/database/transactions.js';
import {
  keyOf,
  keysOfRuns,
  type LimitedNames,
  namesAnything,
  needsContainer,
} from '../../storage/dbos/limited-names.js';
import { copySegment, type KeyedSegment, removeSegment, withdrawSegments } from '../../storage/dbos/queued-segments.js';
import { workflowIdOf } from '../../storage/dbos/workflow-id.js';
import { placesOfRuns } from '../../storage/queue/run-engines.js';

/** The keys of runs where no image and no model is limited. */
async function plainKeys(
  trx: Knex.Transaction,
  segments: Parameters<SegmentQueue['enqueue']>[1],
  limited: LimitedNames,
): Promise<ReadonlyMap<string, string>> {
  const contained = new Set(segments.filter(({ run }) => needsContainer(run, limited)).map(({ run }) => run.id));
  const places = await placesOfRuns(trx, [...contained]);
  return new Map(
    segments.map(({ run: { id, tenant, agent, task_id: task } }) => {
      const { engine, requires } = places.get(id) ?? { engine: null, requires: '' };
      const required = task === null ? limited.agents[agent]?.requires : requires;
      return [id, queueKey(tenant, agent, contained.has(id), engine ?? undefined, required)];
    }),
  );
}

export const SEGMENT_QUEUE = 'holdfast.segments';
export const WAKE_CHANNEL = 'holdfast_wake';

/**
 * Milliseconds between the polls that follow a wake. A slot is released a moment after its workflow returns, and a poll that is under way
 * when it is woken does not poll again by itself.
 */
const WAKES_MS = [2, 8, 30, 100, 300];

/** Makes the dispatcher poll at once when it is woken, and again until it does. */
export class DispatchWaker {
  readonly #poll: () => void;
  #next = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(poll: () => void) {
    this.#poll = poll;
  }

  /** Begins the one chain of polls again. */
  readonly wake = (): void => {
    clearTimeout(this.#timer);
    this.#next = 0;
    this.#pollAndRepeat();
  };

  /** Ends the chain: the dispatcher begins to poll, and sees all that it was woken for until now. */
  taken(): void {
    clearTimeout(this.#timer);
    this.#next = WAKES_MS.length;
  }

  #pollAndRepeat(): void {
    this.#poll();
    const delay = WAKES_MS[this.#next++];
    if (delay !== undefined) this.#timer = setTimeout(() => this.#pollAndRepeat(), delay).unref();
  }
}

/**
 * The queue of segments. They carry no application version, so that any build may run them. The one that puts one in wakes this process
 * when that is committed; `self` is what the others hear then.
 */
export function segmentQueue(
  client: () => DBOSClient,
  { waker, self, limited }: { readonly waker: DispatchWaker; readonly self: string; readonly limited: LimitedNames },
): SegmentQueue {
  const enqueueOne = (trx: Knex.Transaction, segment: KeyedSegment): Promise<unknown> => {
    const { runId, workflowId, key, priority } = segment;
    const options = {
      queueName: SEGMENT_QUEUE,
      workflowName: SEGMENT_WORKFLOW,
      workflowID: workflowId,
      priority,
      queuePartitionKey: key,
    };
    return rawConnection(trx, (connection) =>
      client().enqueueInTransaction(connection, options, runId, segment.segment),
    );
  };
  const enqueue: SegmentQueue['enqueue'] = async (trx, segments) => {
    if (segments.length === 0) return;
    const keys = namesAnything(limited)
      ? await keysOfRuns(trx, [...new Set(segments.map(({ run }) => run.id))], limited)
      : await plainKeys(trx, segments, limited);
    const keyed = segments.map(({ run, segment, band }) => ({
      ...{ runId: run.id, segment, workflowId: workflowIdOf(run.id, segment), key: keyOf(keys, run.id) },
      priority: queuePriority(band, run.priority),
    }));
    await Promise.all([
      putIn(trx, keyed),
      trx.raw('select pg_notify(?, ?)', [WAKE_CHANNEL, wakeText(self, keyed.length)]),
    ]);
  };
  /** The first as DBOS puts it in, the others as copies of it: two statements more, however many there are. */
  const putIn = async (trx: Knex.Transaction, [first, ...others]: readonly KeyedSegment[]): Promise<void> => {
    if (first === undefined) return;
    await enqueueOne(trx, first);
    if (others.length === 0) return;
    const copied = await copySegment(trx, first, others);
    for (const one of others) if (!copied.has(one.workflowId)) await enqueueOne(trx, one);
  };
  return {
    enqueue,
    withdraw: (trx, segments) =>
      withdrawSegments(
        trx,
        segments.map(({ runId, segment }) => workflowIdOf(runId, segment)),
      ),
    remove: (trx, { runId, segment }) => removeSegment(trx, workflowIdOf(runId, segment)),
    wake: waker.wake,
  };
}
