import type { WorkflowQueue } from '@dbos-inc/dbos-sdk';
import wfqueue from '@dbos-inc/dbos-sdk/internal/wfqueue';
import { z } from 'zod';

/**
 * Uses a private part of the DBOS SDK 5.3: the loop that polls queues can be told of one and be woken, so that a segment
 * starts within milliseconds while its limits are kept. Where the part is missing, polling once a second is what remains.
 */

const runnerShape = z.object({
  wfQueueRunner: z.object({
    states: z.instanceof(Map),
    abortController: z.instanceof(AbortController).optional(),
  }),
});

const listShape = z.object({ wfQueueRunner: z.object({ ensureState: z.instanceof(Function) }) });

const stateShape = z.object({ nextPollAt: z.number() });

/** Makes the dispatcher poll a queue now. False: DBOS has changed inside or is not launched. */
export function wakeDispatcher(queueName: string): boolean {
  const parsed = runnerShape.safeParse(wfqueue);
  if (!parsed.success) return false;
  const { states, abortController } = parsed.data.wfQueueRunner;
  const state: unknown = states.get(queueName);
  if (abortController === undefined || !stateShape.safeParse(state).success) return false;
  Object.assign(state as object, { nextPollAt: 0 });
  // The loop sleeps until this event; the signal itself stays un-aborted, so that nothing stops.
  abortController.signal.dispatchEvent(new Event('abort'));
  return true;
}

const queueShape = z.object({ queue: z.object({ workerConcurrency: z.number().optional() }) });

/**
 * Gives a queue a capacity of this process alone: what the database says of it is one number for all. The dispatcher reads
 * the queue's record again every two seconds, and each time it gets ours in it. False: DBOS has changed inside.
 */
export function limitHere(queueName: string, capacity: () => number): boolean {
  const parsed = runnerShape.safeParse(wfqueue);
  const state: unknown = parsed.success ? parsed.data.wfQueueRunner.states.get(queueName) : undefined;
  if (!queueShape.safeParse(state).success) return false;
  let queue = (state as { queue: object }).queue;
  Object.defineProperty(state, 'queue', {
    get: () => Object.assign(queue, { workerConcurrency: capacity() }),
    set: (record: object) => {
      queue = record;
    },
  });
  return true;
}

/** Makes the dispatcher poll a queue that was registered after the launch, which it would find out within two seconds. */
export function listenNow(queue: WorkflowQueue): void {
  const parsed = listShape.safeParse(wfqueue);
  if (parsed.success) Reflect.apply(parsed.data.wfQueueRunner.ensureState, wfqueue.wfQueueRunner, [queue, Date.now()]);
}
