import type { Caller } from '../../core/caller.js';
import type { Page } from '../../core/page.js';
import type { RequeueTask, SubmitTask, TaskFilter, TaskView } from '../../core/tasks/task.js';
import type { BatchAnswer, BatchLine } from '../../core/tasks/task-batch.js';

/** The verbs of the engine that are about tasks. */
export interface TaskVerbs {
  /**
   * Submits a task: a run of its agent in the environment of the task, which is verified and rewarded when the agent has ended. With an
   * idempotency key as `startRun`. Throws `invalid_request`, `agent_unknown`, `task_definition_unknown`, `task_definition_taken`, `task_parameters_invalid`,
   * `reward_unknown`.
   */
  submitTask(request: SubmitTask, caller: Caller, idempotencyKey?: string): Promise<TaskView>;
  /**
   * Submits many tasks, some in each transaction, and gives an answer for each line in its order, then one with the counts. Under the
   * same key the same lines are the same tasks.
   */
  submitTasks(lines: AsyncIterable<BatchLine>, caller: Caller, key: string): AsyncIterable<BatchAnswer>;
  /** Throws `task_unknown`. */
  getTask(id: string, caller: Caller): Promise<TaskView>;
  /** Tasks, newest first. Throws `invalid_request`. */
  listTasks(
    filter: TaskFilter & { readonly limit: number; readonly cursor?: string },
    caller: Caller,
  ): Promise<Page<TaskView>>;
  /** Stops a task with its run. Repeating it is no error. Throws `task_unknown`, `task_over`. */
  cancelTask(id: string, reason: string | null, caller: Caller): Promise<TaskView>;
  /**
   * Gives a task new attempts that failed by an error and that none follows. With `attempts`, repeating it does nothing more. Throws
   * `task_unknown`, `task_not_dead`, `run_erased`, `agent_unknown`.
   */
  requeueTask(id: string, request: RequeueTask, caller: Caller): Promise<TaskView>;
}
