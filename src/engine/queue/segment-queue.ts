import type { DBOSClient } from '@dbos-inc/dbos-sdk';
import type { Knex } from 'knex';
import type { QueuedSegment, SegmentName, SegmentQueue, TakenSegment } from '../../../steps/context.js';
import { queueKey, queuePriority, wakeText } from '../../core/queue/dispatch.js';
import { SEGMENT_WORKFLOW } from '../../core/runs/run.js';
import { rawConnection } from '../../storage/database/transactions.js';
import {
  keyOf,
  keysOfRuns,
  type LimitedNames,
  namesAnything,
  needsContainer,
} from '../../storage/dbos/limited-names.js';
import {
  type Claim,
  claimQueued,
  copySegment,
  type KeyedSegment,
  removeSegment,
  withdrawSegments,
} from '../../storage/dbos/queued-segments.js';
import { workflowIdOf } from '../../storage/dbos/workflow-id.js';
import { placesOfRuns } from '../../storage/queue/run-engines.js';

/** The keys of runs where no image and no model is limited. */
async function plainKeys(
  trx: Knex.Transaction,
  segments: readonly QueuedSegment[],
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

/** Executes a segment with what was begun for it. */
export type AroundExecution = (work: () => Promise<void>) => Promise<void>;

/** Kept in this process for one segment, which is taken without a look. */
export interface Slot {
  /** The token of its execution. */
  readonly owner: string;
  /** Executes a segment that was marked as taken by `owner`, inside `around`, and gives the slot back once it works. */
  readonly start: (workflowId: string, around: AroundExecution) => void;
  readonly release: () => void;
}

interface SegmentQueueOptions {
  readonly waker: DispatchWaker;
  readonly worker: { readonly id: string; readonly epoch: number };
  readonly build: Pick<Claim, 'version' | 'application'>;
  /** What the others hear when this process has put something in. */
  readonly self: string;
  readonly limited: LimitedNames;
  /** A slot of this process, where one is free. */
  readonly reserve: () => Slot | null;
  /** Begins a segment in the transaction that takes it. */
  readonly begin: (trx: Knex.Transaction, segment: SegmentName) => Promise<AroundExecution>;
}

/**
 * The queue of segments. They carry no application version, so that any build may run them. The one that puts one in wakes this process
 * when that is committed.
 */
export function segmentQueue(
  client: () => DBOSClient,
  { waker, worker, build, self, limited, reserve, begin }: SegmentQueueOptions,
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
  const keyedOf = async (trx: Knex.Transaction, segments: readonly QueuedSegment[]) => {
    const keys = namesAnything(limited)
      ? await keysOfRuns(trx, [...new Set(segments.map(({ run }) => run.id))], limited)
      : await plainKeys(trx, segments, limited);
    return segments.map(({ run, segment, band }) => ({
      ...{ runId: run.id, segment, workflowId: workflowIdOf(run.id, segment), key: keyOf(keys, run.id) },
      priority: queuePriority(band, run.priority),
    }));
  };
  const wakeOthers = (trx: Knex.Transaction, count: number): Promise<unknown> =>
    trx.raw('select pg_notify(?, ?)', [WAKE_CHANNEL, wakeText(self, count)]);
  const enqueue: SegmentQueue['enqueue'] = async (trx, segments) => {
    if (segments.length === 0) return;
    const keyed = await keyedOf(trx, segments);
    await Promise.all([putIn(trx, keyed), wakeOthers(trx, keyed.length)]);
  };
  /** Whether it was taken. It is queued in any case. */
  const claimInto = async (trx: Knex.Transaction, segment: QueuedSegment, owner: string): Promise<boolean> => {
    for (const keyed of await keyedOf(trx, [segment])) await enqueueOne(trx, keyed);
    const workflowId = workflowIdOf(segment.run.id, segment.segment);
    const isTaken = await claimQueued(trx, { ...build, queue: SEGMENT_QUEUE, workflowId, worker, owner });
    if (!isTaken) await wakeOthers(trx, 1);
    return isTaken;
  };
  const takenSegment = (slot: Slot, { run: { id: runId }, segment }: QueuedSegment): TakenSegment => {
    let around: AroundExecution = (work) => work();
    return {
      begin: async (trx) => {
        around = await begin(trx, { runId, segment });
      },
      start: () => slot.start(workflowIdOf(runId, segment), around),
      release: slot.release,
    };
  };
  const takeHere: SegmentQueue['takeHere'] = async (trx, segment) => {
    // Which worker has room for a container, or under the limit of an image or a model, a look of the dispatcher says.
    const slot = namesAnything(limited) || needsContainer(segment.run, limited) ? null : reserve();
    if (slot === null) {
      await enqueue(trx, [segment]);
      return null;
    }
    try {
      if (await claimInto(trx, segment, slot.owner)) return takenSegment(slot, segment);
    } catch (error) {
      slot.release();
      throw error;
    }
    slot.release();
    return null;
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
    takeHere,
    withdraw: (trx, segments) =>
      withdrawSegments(
        trx,
        segments.map(({ runId, segment }) => workflowIdOf(runId, segment)),
      ),
    remove: (trx, { runId, segment }) => removeSegment(trx, workflowIdOf(runId, segment)),
    wake: waker.wake,
  };
}
