import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { RunView } from '../../core/runs/run.js';
import { deleteRunRows, forkOf, hasBegun, insertRemovedRun } from '../../storage/retention/erase-run.js';
import { enterLoss, lossDraft } from '../../storage/retention/lost-rows.js';
import { lockFamily } from '../../storage/runs/families.js';
import { runViewOf } from '../../storage/runs/run-row.js';
import { findRun } from '../../storage/runs/runs.js';
import type { EngineContext } from '../engine-context.js';

/**
 * Removes a run that never began, as if it had not been started: its rows, its key, its place in the queue. What has begun has
 * a log, which is kept. A worker that takes the run at the same time either finds nothing, or has taken it and keeps it.
 */
export async function deleteRun(context: EngineContext, id: string, caller: Caller): Promise<RunView> {
  const { stepContext } = context;
  const deleted = await stepContext.knex.transaction(async (trx) => {
    const seen = await findRun(trx, caller.tenant, id);
    const run = seen && (await lockFamily(trx, id));
    if (run === undefined) throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);
    if (run.status !== 'queued' || (await hasBegun(trx, run)))
      throw new HoldfastError(
        'run_begun',
        `Run ${id} is ${run.status}; what has begun or is over is kept with its log.`,
      );
    if (run.parent_run_id !== null)
      throw new HoldfastError('run_referenced', `Run ${run.parent_run_id} has started run ${id} and waits for it.`);
    if (run.task_id !== null)
      throw new HoldfastError('run_referenced', `Run ${id} executes task ${run.task_id}: cancel the task.`);
    const fork = await forkOf(trx, id);
    if (fork !== null) throw new HoldfastError('run_referenced', `Run ${fork} was forked from run ${id} and names it.`);
    if (!(await stepContext.queue.remove(trx, { runId: id, segment: run.segment })))
      throw new HoldfastError('run_begun', `Run ${id} was just taken by a worker.`);
    const by = { actor: caller.actor, reason: 'It had not begun.' };
    const draft = await lossDraft(trx, id, { loss: 'removed', ...by });
    await insertRemovedRun(trx, id, by);
    await deleteRunRows(trx, id);
    await enterLoss(trx, draft);
    return run;
  });
  context.changes.announce(id);
  return runViewOf(deleted, []);
}
