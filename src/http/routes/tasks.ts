import { z } from 'zod';
import { requeueTask, submitTask, taskFilter, taskView } from '../../core/tasks/task.js';
import { batchAnswer, batchTask } from '../../core/tasks/task-batch.js';
import { idPath, pageOf, pageQuery } from '../fields.js';
import { idempotencyKey } from '../idempotency.js';
import { guarded, json, NO_INPUT } from '../route.js';
import { LINES_TYPE } from '../wire/lines.js';

export const TASK_ROUTES = [
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/tasks',
    operationId: 'submitTask',
    hasFiles: true,
    summary: 'Submit a task: an agent works on it in a container, and is verified and rewarded.',
    role: 'operator',
    header: z.object({ 'idempotency-key': idempotencyKey.exactOptional() }),
    body: submitTask,
    status: 202,
    response: taskView,
    errors: [
      ...(['agent_unknown', 'task_definition_unknown', 'task_parameters_invalid', 'reward_unknown'] as const),
      ...(['idempotency_key_reused', 'run_erased', 'task_unknown', 'value_not_json'] as const),
    ],
    handle: async ({ header, body }, { engine, caller }) => {
      const task = await engine.submitTask(body, caller, header['idempotency-key']);
      return { type: 'json', status: 202, body: task, location: `/api/v1/tasks/${encodeURIComponent(task.id)}` };
    },
  }),
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/tasks/batch',
    operationId: 'submitTasks',
    summary: 'Submit many tasks, one in each line; the answer has a line for each as it is submitted.',
    role: 'operator',
    header: z.object({ 'idempotency-key': idempotencyKey }),
    body: batchTask,
    takes: 'lines',
    hasFiles: true,
    response: batchAnswer,
    media: LINES_TYPE,
    errors: ['rate_limited'],
    handle: async ({ header }, { engine, caller, lines }) => ({
      type: 'lines',
      lines: engine.submitTasks(lines, caller, header['idempotency-key']),
    }),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/tasks',
    operationId: 'listTasks',
    summary: 'List tasks, newest first.',
    role: 'viewer',
    query: z.strictObject({ ...pageQuery, ...taskFilter.shape }),
    response: pageOf(taskView),
    errors: [],
    handle: async ({ query }, { engine, caller }) => json(await engine.listTasks(query, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'GET',
    path: '/api/v1/tasks/{id}',
    operationId: 'getTask',
    summary: 'Read a task: its status, result and reward, and the run that executes it.',
    role: 'viewer',
    pathParams: idPath,
    response: taskView,
    errors: ['task_unknown'],
    handle: async ({ path }, { engine, caller }) => json(await engine.getTask(path.id, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'DELETE',
    path: '/api/v1/tasks/{id}',
    operationId: 'cancelTask',
    summary: 'Cancel a task with its run; nothing of its container is left.',
    role: 'operator',
    pathParams: idPath,
    response: taskView,
    errors: ['task_unknown', 'task_over'],
    audited: true,
    handle: async ({ path }, { engine, caller }) => json(await engine.cancelTask(path.id, null, caller)),
  }),
  guarded({
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/tasks/{id}/requeue',
    operationId: 'requeueTask',
    summary: 'Give a task new attempts that failed by an error and that none follows.',
    role: 'admin',
    pathParams: idPath,
    body: requeueTask,
    response: taskView,
    errors: ['task_unknown', 'task_not_dead', 'run_erased', 'agent_unknown'],
    audited: true,
    handle: async ({ path, body }, { engine, caller }) => json(await engine.requeueTask(path.id, body, caller)),
  }),
];
