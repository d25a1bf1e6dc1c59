import { isOver } from '../../core/runs/run.js';
import { NO_STEPS } from '../../core/trajectories/trajectory.js';
import { resultOf } from '../../core/trajectories/trajectory-result.js';
import { diversityOf } from '../../core/trajectories/trajectory-score.js';
import { chargesByTurn } from '../../storage/budgets/charges.js';
import { lockRun, readRun } from '../../storage/runs/runs.js';
import { endedTask } from '../../storage/tasks/end-task.js';
import { lastReward } from '../../storage/tasks/rewards.js';
import {
  insertTrajectory,
  readTrajectory,
  runFactsOf,
  sketchesBefore,
} from '../../storage/trajectories/trajectories.js';
import { isDone, shortDue, takeDue } from '../../storage/trajectories/trajectories-due.js';
import { maintenanceWork } from '../concurrency/repeated-work.js';
import { levelOfFailure, workOff } from '../concurrency/work-off.js';
import type { EngineContext } from '../engine-context.js';

/** With how many others a run is compared. */
const COMPARED = 50;
/** How many a worker reads at once that has nothing else to do, and one that has. */
const IDLE_AT_ONCE = 500;
const BUSY_AT_ONCE = 25;
/** So often a run is read with those beside it. */
const TOGETHER_TRIES = 2;
/** What a list waits for. */
const SHORT = { limit: 20, maxEvents: 1000, maxTries: TOGETHER_TRIES - 1 };

/** Reads what a run was from its log, and keeps it for lists. Doing it again, or twice at a time, changes nothing. */
async function indexRun(context: EngineContext, runId: string): Promise<void> {
  const { knex } = context.stepContext;
  const row = await readRun(knex, runId);
  if (row === undefined || row.erased_at !== null || !isOver(row.status)) return;
  const beside = { reward: await lastReward(knex, runId), charges: await chargesByTurn(knex, runId) };
  const { record, sketch: sketched } = await readTrajectory(knex, { row, ...beside }, NO_STEPS);
  const sketch = sketched();
  const read = await knex.transaction(async (trx) => {
    // Under its lock no one says what it was worth meanwhile.
    const run = await lockRun(trx, runId);
    if (run === undefined || run.erased_at !== null) return null;
    const reward = await lastReward(trx, runId);
    const result = resultOf({ ...runFactsOf(run, reward).run, cancelReason: run.cancel_reason }, reward);
    if (result === null) return null;
    const { agent, taskId } = record;
    const others = await sketchesBefore(trx, { runId, tenant: run.tenant, agent, taskId }, COMPARED);
    const whole = { ...record, totalReward: reward?.reward ?? null };
    const isNew = await insertTrajectory(trx, run, whole, { sketch, diversity: diversityOf(sketch, others), result });
    await isDone(trx, runId);
    const task = run.task_id === null ? null : await endedTask(trx, run.id);
    return isNew ? { run, whole, result, task } : null;
  });
  if (read === null) return;
  const { run, whole, result, task } = read;
  context.stepContext.metrics.runEnded({
    ...{ agent: run.agent, status: run.status, seconds: Number(run.active_ms) / 1000, result: result.type },
    ...{ reward: whole.totalReward, steps: whole.totalSteps, tokens: Number(run.total_tokens) },
  });
  if (task !== null) context.stepContext.metrics.taskEnded(task);
}

/** One that fails is due again later, and holds up no other. */
const tryIndex = (context: EngineContext, runId: string): Promise<void> =>
  indexRun(context, runId).catch((error: unknown) =>
    context.log[levelOfFailure(error)](
      { component: 'trajectories', event: 'trajectory_unread', runId, error: String(error) },
      'the trajectory of a run could not be read',
    ),
  );

/** What a list is to find: runs of a tenant that are over since a moment. The rest comes with the next beats. */
export async function indexShortDue(context: EngineContext, tenant: string): Promise<void> {
  for (const runId of await shortDue(context.stepContext.knex, tenant, SHORT)) await tryIndex(context, runId);
}

const unread = (context: EngineContext, error: unknown): void =>
  context.log[levelOfFailure(error)](
    { component: 'trajectories', event: 'trajectories_unread', error: String(error) },
    'trajectories could not be read; it is tried again',
  );

/** Reads all that is due, beside everything else and never in the way of a run. Throws nothing. */
export function indexDue(context: EngineContext, isStopping: () => boolean): Promise<void> {
  const isBusy = (): boolean => context.running.runIds.length > 0;
  const batch = async (): Promise<boolean> => {
    const limit = isBusy() ? BUSY_AT_ONCE : IDLE_AT_ONCE;
    return (await indexSome(context, limit, isStopping)) === limit;
  };
  return workOff({ batch, isBusy, isStopping });
}

/** Returns how many were due, at most `limit`. */
async function indexSome(context: EngineContext, limit: number, isStopping: () => boolean): Promise<number> {
  const due = await takeDue(context.stepContext.knex, limit).catch((error: unknown) => {
    unread(context, error);
    return [];
  });
  for (const { runId, tenant, tries } of due) {
    if (isStopping()) break;
    // That it is tried is committed. What did not come to its end is tried by itself, so that it alone is to blame.
    if (tries <= TOGETHER_TRIES) await tryIndex(context, runId);
    else
      await maintenanceWork(context, { tenant, name: `index ${runId}` }, () => tryIndex(context, runId)).catch(
        (error) => unread(context, error),
      );
  }
  return due.length;
}
