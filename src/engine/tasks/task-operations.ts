import type { Knex } from 'knex';
import { isToStop, stopRun } from '../../../steps/agents/family.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import { plainText } from '../../core/json.js';
import type { Page } from '../../core/page.js';
import { isOver } from '../../core/runs/run.js';
import { type RequeueTask, type TaskFilter, type TaskView, taskFilter } from '../../core/tasks/task.js';
import { atOneMoment } from '../../storage/database/transactions.js';
import { shownTask } from '../../storage/integrity/legible-rows.js';
import { type Shown, shownOf } from '../../storage/integrity/shown-rows.js';
import { lockFamily } from '../../storage/runs/families.js';
import { lightRuns } from '../../storage/runs/run-columns.js';
import { cursorAfter } from '../../storage/runs/run-list.js';
import { lockRun } from '../../storage/runs/runs.js';
import { attemptsOf, restoreItems } from '../../storage/tasks/task-attempts.js';
import { listTaskRows } from '../../storage/tasks/task-list.js';
import { cancelOpenTask, findTask, isDead, lockTask, type SeenTask, type TaskRow } from '../../storage/tasks/tasks.js';
import { agentNamed, type EngineContext } from '../engine-context.js';

async function taskNamed({ stepContext }: EngineContext, id: string, caller: Caller): Promise<SeenTask> {
  const row = await findTask(stepContext.knex, caller.tenant, id);
  if (row === undefined) throw unknown(id);
  return row;
}

const unknown = (id: string): HoldfastError =>
  new HoldfastError('task_unknown', `There is no task ${JSON.stringify(id)}.`);

/** What of their runs is not what the logs say. */
const shownOfTasks = async (trx: Knex.Transaction, rows: readonly SeenTask[]): Promise<ReadonlyMap<string, Shown>> =>
  shownOf(
    trx,
    await lightRuns(
      trx,
      rows.map((row) => row.run_id),
    ),
    'short',
  );

/** Throws `task_unknown`. */
export async function getTask(context: EngineContext, id: string, caller: Caller): Promise<TaskView> {
  const { stepContext } = context;
  const { row, seen } = await atOneMoment(stepContext.knex, async (trx) => {
    const row = await findTask(trx, caller.tenant, id);
    if (row === undefined) throw unknown(id);
    return { row, seen: await shownOfTasks(trx, [row]) };
  });
  return { ...shownTask(row, seen.get(row.run_id)?.integrity ?? []), tried: await attemptsOf(stepContext.knex, id) };
}

const LISTED_ATTEMPTS = 10;

/** Tasks, newest first. Throws `invalid_request`. */
export async function listTasks(
  context: EngineContext,
  { limit, cursor, ...asked }: TaskFilter & { readonly limit: number; readonly cursor?: string },
  caller: Caller,
): Promise<Page<TaskView>> {
  const filter = taskFilter.safeParse(asked);
  if (!filter.success) throw invalidRequest(fieldErrorsOf(filter.error));
  const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
  const { given, seen } = await atOneMoment(context.stepContext.knex, async (trx) => {
    const given = await listTaskRows(trx, caller.tenant, filter.data, page);
    return { given, seen: await shownOfTasks(trx, given.rows) };
  });
  const tried = async ({ id }: SeenTask) =>
    asked.dead === undefined ? {} : { tried: await attemptsOf(context.stepContext.knex, id, LISTED_ATTEMPTS) };
  const items: TaskView[] = [];
  for (const row of given.rows)
    items.push({ ...shownTask(row, seen.get(row.run_id)?.integrity ?? []), ...(await tried(row)) });
  return { items, nextCursor: cursorAfter(given) };
}

/** Stops a task and its run; one that works is asked to. Repeating it is no error. Throws `task_unknown`, `task_over`. */
export async function cancelTask(
  context: EngineContext,
  id: string,
  reason: string | null,
  caller: Caller,
): Promise<TaskView> {
  const { stepContext } = context;
  const why = reason === null ? null : plainText(reason);
  for (;;) {
    const seen = await taskNamed(context, id, caller);
    if (seen.status === 'cancelled') return getTask(context, id, caller);
    if (seen.status !== 'open') throw new HoldfastError('task_over', `Task ${id} is ${seen.status}.`);
    const stopping = await stepContext.knex.transaction(async (trx) => {
      const run = await lockFamily(trx, seen.run_id);
      const task = await lockTask(trx, id);
      // Another run of it has begun meanwhile, or it is over by now: it is looked at again.
      if (task === undefined || run === undefined || task.run_id !== run.id || task.status !== 'open') return null;
      if (isOver(run.status)) await cancelOpenTask(trx, id, why);
      else if (isToStop(stepContext, run)) return stopRun(stepContext, trx, run, { actor: caller.actor, reason: why });
      return [];
    });
    if (stopping === null) continue;
    for (const one of stopping) context.running.cancel(one);
    stepContext.queue.wake();
    context.changes.announce(seen.run_id);
    return getTask(context, id, caller);
  }
}

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
