import { takeChore } from '../../storage/database/chores.js';
import { recordQueueDepth } from '../../storage/ops/system-events.js';
import { recordHealthChanges } from '../../storage/queue/workers.js';
import { levelOfFailure } from '../concurrency/failure-level.js';
import type { EngineContext } from '../engine-context.js';
import { SEGMENT_QUEUE } from '../queue/segment-queue.js';

const CHORE = 'system_events';
const EVERY_MS = 5000;

/**
 * Tells what is true without a transaction that makes it so: that a worker fell silent, and how long the queue is. One process at a
 * time looks, and what changed is kept together with what was told of it. Gives every event its place. Throws nothing.
 */
export async function publishSystemEvents({ stepContext: { knex }, system, log }: EngineContext): Promise<void> {
  try {
    if (await takeChore(knex, CHORE, EVERY_MS)) {
      await knex.transaction(async (trx) => {
        await recordHealthChanges(trx);
        await recordQueueDepth(trx, SEGMENT_QUEUE);
      });
    }
    await system.look();
  } catch (error) {
    log[levelOfFailure(error)](
      { component: 'system_events', event: 'not_told', error: String(error) },
      'events of the system could not be told; it is tried again',
    );
  }
}
