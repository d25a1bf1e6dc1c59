import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { RequeueTask, TaskView } from '../../core/tasks/task.js';
import { lockRun } from '../../storage/runs/runs.js';
import { restoreItems } from '../../storage/tasks/task-attempts.js';
import { isDead, lockTask, type TaskRow } from '../../storage/tasks/tasks.js';
import { agentNamed, type EngineContext } from '../engine-context.js';
import { getTask } from './task-operations.js';

/** So often a task is put back; by then it is not chance that it fails by. */
const REQUEUES_MAX = 100;

/**
 * Gives a dead task new attempts, on the terms of the configuration as it is now; the first is due at once. One that was put back
 * already after so many attempts is left as it is. Throws `task_unknown`, `task_not_dead`, `run_erased`, `agent_unknown`.
 */
export async function requeueTask(
  context: EngineContext,
  id: string,
  { attempts }: RequeueTask,
  caller: Caller,
): Promise<TaskView> {
  const { stepContext } = context;
  for (;;) {
    const seen = await getTask(context, id, caller);
    const done = await stepContext.knex.transaction(async (trx) => {
      const run = await lockRun(trx, seen.runId);
      const task = await lockTask(trx, id);
      // Another run of it has begun meanwhile.
      if (task === undefined || run === undefined || task.run_id !== run.id) return null;
      if (isRepeated(task, attempts)) return { again: true };
      assertDead(task, attempts);
      if (run.erased_at !== null) throw new HoldfastError('run_erased', `The content of task ${id} was erased.`);
      agentNamed(context, task.agent);
      await restoreItems(trx, task, context.retries);
      return { again: false };
    });
    if (done === null) continue;
    if (!done.again)
      context.log.info(
        { component: 'tasks', event: 'task_requeued', taskId: id, runId: seen.runId, actor: caller.actor },
        'a task was put back',
      );
    return getTask(context, id, caller);
  }
}

/** Whether it was put back by this request before: after so many attempts, or where none are said since its last one. */
const isRepeated = ({ requeues, attempts, attempts_before: before }: TaskRow, asked = attempts): boolean =>
  requeues > 0 && before === asked;

function assertDead(task: TaskRow, asked: number | undefined): void {
  const { id, status, attempts, requeues } = task;
  const what = status === 'open' ? 'not over' : status === 'failed' ? 'no error, but a result' : status;
  if (!isDead(task)) throw new HoldfastError('task_not_dead', `Task ${id} is ${what}.`);
  if (asked !== undefined && asked !== attempts)
    throw new HoldfastError('task_not_dead', `Task ${id} has had ${attempts} attempts, not ${asked}.`);
  if (requeues >= REQUEUES_MAX)
    throw new HoldfastError('task_not_dead', `Task ${id} was put back ${REQUEUES_MAX} times, which is the most.`);
}
