import { recordTaskStalled } from '../../storage/tasks/task-events.js';
import type { EngineContext } from '../engine-context.js';

/**
 * Tells of runs that are at work here and had no step begin or end for long, once for each silence, and ends them where that is
 * configured. What is told is committed before anything is ended.
 */
export async function reportStalledRuns(context: EngineContext): Promise<void> {
  const { stepContext, running, stalls, log } = context;
  for (const { runId, silentMs } of running.silent(stalls.afterMs)) {
    const seconds = Math.floor(silentMs / 1000);
    const taskId = await recordTaskStalled(stepContext.knex, runId, { seconds, ended: stalls.end });
    running.told(runId);
    stepContext.metrics.stalled();
    log.warn(
      { component: 'worker', event: 'run_stalled', taskId, runId, seconds, ended: stalls.end },
      'a run made no progress',
    );
    if (stalls.end) running.stall(runId);
  }
}
