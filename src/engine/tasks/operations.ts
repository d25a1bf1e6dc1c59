import type { Caller } from '../../core/caller.js';
import type { Page, PageOf } from '../../core/page.js';
import type { RequeueTask, TaskFilter, TaskView } from '../../core/tasks/task.js';
import type { EngineContext } from '../engine-context.js';
import { listArtifacts, readArtifact } from './artifact-operations.js';
import { BATCH_OPERATIONS } from './batch-operations.js';
import { REGISTRY_OPERATIONS } from './registry-operations.js';
import { submitTask } from './submit-task.js';
import { cancelTask, getTask, listTasks, requeueTask } from './task-operations.js';

/** What clients ask of tasks, their definitions and their batches. */
export const TASK_OPERATIONS = {
  /**
   * Submits a task: a run of its agent in the environment of the task, which is verified and rewarded when the agent has ended. With an
   * idempotency key as `startRun`. Throws `invalid_request`, `agent_unknown`, `task_definition_unknown`, `task_definition_taken`,
   * `task_parameters_invalid`,
   * `reward_unknown`.
   */
  submitTask,
  /** Throws `task_unknown`. */
  getTask,
  /** Tasks, newest first. Throws `invalid_request`. */
  listTasks: (context: EngineContext, filter: TaskFilter & PageOf, caller: Caller): Promise<Page<TaskView>> =>
    listTasks(context, filter, caller),
  /** Stops a task with its run. Repeating it is no error. Throws `task_unknown`, `task_over`. */
  cancelTask,
  /**
   * Gives a task new attempts that failed by an error and that none follows. With `attempts`, repeating it does nothing more. Throws
   * `task_unknown`, `task_not_dead`, `run_erased`, `agent_unknown`.
   */
  requeueTask: (context: EngineContext, id: string, request: RequeueTask, caller: Caller): Promise<TaskView> =>
    requeueTask(context, id, request, caller),
  /** What was kept of a task's attempt, as its log names it. Throws `run_unknown`. */
  listArtifacts,
  /** An artifact, after its bytes were compared with the log. Throws `run_unknown`, `artifact_unknown`, `artifact_damaged`, and what the store throws. */
  readArtifact,
  ...REGISTRY_OPERATIONS,
  ...BATCH_OPERATIONS,
};
