import type { Knex } from 'knex';
import { counted } from '../../../steps/exports/counted-work.js';
import { requestersOf } from '../../../steps/segment/begin-segment.js';
import { taskDefinition } from '../../core/tasks/task-definition.js';
import { databaseTrouble } from '../../storage/database/database-trouble.js';
import { asLogged } from '../../storage/integrity/copied-rows.js';
import { readKeyedEvents } from '../../storage/log/keyed-events.js';
import { inputOf, metadataOf } from '../../storage/runs/run-row.js';
import { lockRun } from '../../storage/runs/runs.js';
import { nextAttempt, tasksToRetry } from '../../storage/tasks/task-attempts.js';
import { readDefinition } from '../../storage/tasks/task-definitions.js';
import { cancelOpenTask, lockTask, type TaskRow } from '../../storage/tasks/tasks.js';
import { agentNamed, type EngineContext } from '../engine-context.js';
import { limitsOfStart, newRunId } from '../runs/start-run.js';
import { writeRun } from '../runs/write-run.js';
import { goOn, type LastAttempt } from './go-on.js';

const AT_ONCE = 50;

/** Begins the attempts that are due of tasks whose agents this process has. One that cannot begin is tried again at the next look. Never throws. */
export async function retryTasks(context: EngineContext, isStopping: () => boolean): Promise<void> {
  const { stepContext } = context;
  let begun = 0;
  const not = (error: unknown, of: { readonly taskId?: string; readonly runId?: string } = {}): void =>
    context.log.warn(
      { component: 'worker', event: 'task_not_retried', ...of, error: String(error) },
      'the next attempt of a task could not begin',
    );
  try {
    for (const due of await tasksToRetry(stepContext.knex, [...context.agents.keys()], AT_ONCE)) {
      if (isStopping()) break;
      const of = { taskId: due.id, runId: due.run_id };
      if (await begin(context, due).catch((error: unknown) => not(error, of))) begun++;
    }
  } catch (error) {
    not(error);
  }
  if (begun > 0) stepContext.queue.wake();
}

/** From where files of the last attempt are kept, or else from the beginning; so too where processes died with the former. */
async function begin(context: EngineContext, { id, run_id: lastRunId, tenant }: DueTask): Promise<boolean> {
  const attempt = (name: string, start: Start): Promise<boolean> =>
    counted(context.stepContext, { tenant, name: `${name} of task ${id}` }, () =>
      attemptBy(context, id, lastRunId, start),
    );
  try {
    return await attempt('next attempt', async (...at) => (await goOn(...at)) ?? beginAnew(...at));
  } catch (error) {
    if (databaseTrouble(error) !== null) throw error;
    // What there was to go on from does not let it. The transaction has left nothing.
    context.log.info(
      { component: 'worker', event: 'task_begins_anew', runId: lastRunId, error: String(error) },
      'the next attempt of a task cannot go on from the last one, and begins anew',
    );
    return attempt('next attempt, anew,', beginAnew);
  }
}

type DueTask = Pick<TaskRow, 'id' | 'run_id' | 'tenant'>;

type Start = (context: EngineContext, trx: Knex.Transaction, attempt: LastAttempt) => Promise<string>;

/**
 * One transaction under the locks of the last run and of the task: however many look and wherever they die, an attempt begins
 * once. False: none is due any more.
 */
const attemptBy = (context: EngineContext, id: string, lastRunId: string, start: Start): Promise<boolean> =>
  context.stepContext.knex.transaction(async (trx) => {
    const last = await lockRun(trx, lastRunId);
    const task = await lockTask(trx, id);
    if (last === undefined || task === undefined || task.run_id !== last.id || task.retry_at === null) return false;
    if (last.erased_at !== null) {
      await cancelOpenTask(trx, id, 'Its content was erased before its next attempt.');
      return false;
    }
    const kept = await readDefinition(trx, task.tenant, task.definition_hash);
    if (kept === undefined) throw new Error('a task references its definition');
    const definition = taskDefinition.parse(JSON.parse(kept.definition));
    await nextAttempt(trx, id, await start(context, trx, { task, last, definition }));
    return true;
  });

/** The run is given what the last one was given, by its agent as it is now; seed and parameters are the task's. */
async function beginAnew(context: EngineContext, trx: Knex.Transaction, { task, last: row, definition }: LastAttempt) {
  const last = asLogged(row, await readKeyedEvents(trx, row.id, 2));
  const { maxTurns, timeoutSeconds } = definition;
  const agent = agentNamed(context, task.agent);
  const runId = newRunId(context);
  const run = {
    ...{ id: runId, tenant: task.tenant, agent, input: inputOf(last), metadata: metadataOf(last) },
    ...{
      grants: agent.grants,
      limits: limitsOfStart(context, agent, { maxTurns, maxDurationMs: timeoutSeconds * 1000 }),
    },
    ...{ priority: task.priority, stream: last.stream, sessionId: null, subjects: [], taskId: task.id },
    requestedBy: await requestersOf(trx, last.id),
  };
  await writeRun(context.stepContext, trx, run, async () => {});
  return runId;
}
