import type { Caller } from '../../core/caller.js';
import { queueWaitOf, type ReadRun } from '../../core/queue/queue-wait.js';
import { workflowIdOf } from '../../storage/dbos/workflow-id.js';
import { queueFacts } from '../../storage/queue/queue-facts.js';
import type { EngineContext } from '../engine-context.js';
import { SEGMENT_QUEUE } from '../queue/segment-queue.js';
import { getRun } from '../runs/read-runs.js';

/**
 * Reads a run, and for one in the queue the reason why no worker has taken it. One that is running is in the queue after its worker died.
 * Throws `run_unknown`.
 */
export async function readRun(
  context: EngineContext,
  id: string,
  caller: Caller,
  options: { readonly waitMs?: number; readonly signal?: AbortSignal } = {},
): Promise<ReadRun> {
  const run = await getRun(context, id, caller, options);
  if (run.status !== 'queued' && run.status !== 'running') return { ...run, waitsFor: null };
  const workflowId = workflowIdOf(run.id, run.segment);
  const facts = await queueFacts(context.stepContext.knex, { workflowId, queue: SEGMENT_QUEUE });
  return { ...run, waitsFor: facts === null ? null : queueWaitOf(facts) };
}
