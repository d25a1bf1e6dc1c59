import { taskDefinition } from '../core/task-definition.js';
import { inputOf, lockRun, metadataOf } from '../storage/runs.js';
import { nextAttempt, tasksToRetry } from '../storage/task-attempts.js';
import { readDefinition } from '../storage/task-definitions.js';
import { cancelOpenTask, lockTask } from '../storage/tasks.js';
import { agentNamed, type Parts } from './parts.js';
import { limitsOfStart, newRunId } from './start-run.js';
import { writeRun } from './write-run.js';

const AT_ONCE = 50;

/** Begins the attempts that are due of tasks whose agents this process has. One that cannot begin is tried again at the next look. */
export async function retryTasks(parts: Parts): Promise<void> {
  const { world } = parts;
  let begun = 0;
  for (const { id, run_id: runId } of await tasksToRetry(world.knex, [...parts.agents.keys()], AT_ONCE)) {
    try {
      if (await begin(parts, id, runId)) begun++;
    } catch (error) {
      parts.log.warn(
        { component: 'worker', event: 'task_not_retried', runId, error: String(error) },
        'the next attempt of a task could not begin',
      );
    }
  }
  if (begun > 0) world.queue.wake();
}

/**
 * One transaction under the locks of the last run and of the task: however many look and wherever they die, an attempt begins
 * once. The run is given what that one was given, by its agent as it is now; seed and parameters are the task's.
 */
const begin = (parts: Parts, id: string, lastRunId: string): Promise<boolean> =>
  parts.world.knex.transaction(async (trx) => {
    const last = await lockRun(trx, lastRunId);
    const task = await lockTask(trx, id);
    if (last === undefined || task === undefined || task.run_id !== last.id || task.retry_at === null) return false;
    if (last.erased_at !== null) {
      await cancelOpenTask(trx, id, 'Its content was erased before its next attempt.');
      return false;
    }
    const kept = await readDefinition(trx, task.tenant, task.definition_hash);
    if (kept === undefined) throw new Error('a task references its definition');
    const { maxTurns, timeoutSeconds } = taskDefinition.parse(JSON.parse(kept.definition));
    const agent = agentNamed(parts, task.agent);
    const runId = newRunId(parts);
    const run = {
      ...{ id: runId, tenant: task.tenant, agent, input: inputOf(last), metadata: metadataOf(last) },
      ...{
        grants: agent.grants,
        limits: limitsOfStart(parts, agent, { maxTurns, maxDurationMs: timeoutSeconds * 1000 }),
      },
      ...{ priority: task.priority, stream: last.stream, sessionId: null, subjects: [], taskId: id },
    };
    await writeRun(parts.world, trx, run, async () => {});
    await nextAttempt(trx, id, runId);
    return true;
  });
