import { DBOS } from '@dbos-inc/dbos-sdk';
import { endFamily } from '../../../steps/agents/family.js';
import { isoNow } from '../../../steps/context.js';
import { counted } from '../../../steps/exports/counted-work.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { canonical } from '../../core/json.js';
import { isGivenUp } from '../../core/queue/worker.js';
import { isOver, SEGMENT_WORKFLOW, strandedText } from '../../core/runs/run.js';
import { msOf } from '../../storage/database/legible-rows.js';
import { type StrandedRun, strandedRuns } from '../../storage/dbos/strays.js';
import { crashesOf, requeue, segmentsOfWorker } from '../../storage/dbos/takeover.js';
import { workflowIdOf } from '../../storage/dbos/workflow-id.js';
import { appendEvents } from '../../storage/log/events.js';
import { takesEvents } from '../../storage/retention/lost-rows.js';
import { lockFamily } from '../../storage/runs/families.js';
import { readRun, updateRun } from '../../storage/runs/runs.js';
import { dueItems } from '../concurrency/due-items.js';
import type { EngineContext } from '../engine-context.js';

const AT_ONCE = 20;
const AGAIN_AFTER_MS = 60_000;

/**
 * Looks, whenever it is called, for segments that this worker has and does not execute, and puts them back into the queue. DBOS
 * gives an execution up when it finds its own step recorded, which happens when the connection is lost after the commit and
 * before the answer. Between two calls whatever the dispatcher has taken must have begun.
 */
export function requeueAbandoned(context: EngineContext): () => Promise<void> {
  const { knex, worker, queue } = context.stepContext;
  let suspects: ReadonlySet<string> = new Set();
  return async () => {
    const here = new Set(context.running.workflowIds);
    const idle = (await segmentsOfWorker(knex, SEGMENT_WORKFLOW, worker.id)).filter((id) => !here.has(id));
    const strays = idle.filter((id) => suspects.has(id) && !context.running.workflowIds.includes(id));
    suspects = new Set(idle);
    if (strays.length === 0) return;
    const requeued = await requeue(knex, worker, strays);
    if (requeued.length === 0) return;
    queue.wake();
    context.stepContext.metrics.requeued(requeued.length);
    context.log.warn(
      { component: 'worker', event: 'segments_requeued', segments: requeued },
      'segments that had stopped were put back into the queue',
    );
  };
}

/** Ends runs whose segment can never go on, by name, so that none is stuck forever. */
export const endStrandedRuns = (context: EngineContext): ((isStopping: () => boolean) => Promise<void>) =>
  dueItems<StrandedRun>({
    atOnce: AT_ONCE,
    find: (except, limit) => strandedRuns(context.stepContext.knex, except, limit),
    idOf: ({ id }) => id,
    work: (stranded) => endStranded(context, stranded),
    failed: ({ id }, error) =>
      context.log.warn(
        { component: 'worker', event: 'run_not_ended', runId: id, error: String(error) },
        'a stranded run could not be ended; it is tried again',
      ),
    againAfterMs: AGAIN_AFTER_MS,
  });

/** Ends a run whose segment can never go on. */
export async function endStranded(context: EngineContext, stranded: StrandedRun): Promise<void> {
  const { stepContext } = context;
  const { code, why } = await reasonOf(context, stranded);
  const error = new HoldfastError(code, strandedText(stranded.segment, why)).view();
  const taskId = await stepContext.knex.transaction(async (trx) => {
    const run = await lockFamily(trx, stranded.id);
    if (run === undefined || run.segment !== stranded.segment || isOver(run.status)) return null;
    const task = run.task_id === null ? [] : [run.id];
    const left = (await stepContext.leftBehind(trx, task, 'no worker could go on with the run')).get(run.id);
    const data = { error: { ...error }, ...left };
    const draft = { key: 'end', parentKey: 'created', kind: 'run.failed', data } as const;
    // A log that someone has damaged does not keep the run, and those after it, from ending.
    if (await takesEvents(trx, run.id))
      await appendEvents(trx, run.id, [draft], { at: isoNow(stepContext), worker: null });
    const began = msOf(run.segment_started_at) ?? stepContext.now();
    const ended = await updateRun(trx, run.id, {
      status: 'failed',
      error: canonical(error),
      completed_at: new Date(stepContext.now()),
      active_ms: String(Number(run.active_ms) + Math.max(0, stepContext.now() - began)),
      segment_started_at: null,
    });
    await endFamily(stepContext, trx, ended);
    return ended.task_id;
  });
  stepContext.queue.wake();
  stepContext.metrics.stranded();
  context.log.error(
    { component: 'worker', event: 'run_stranded', taskId, runId: stranded.id, segment: stranded.segment, why },
    'a stranded run was ended',
  );
  context.changes.announce(stranded.id);
}

interface Reason {
  readonly code: 'limit_crashes' | 'replay_diverged' | 'run_failed';
  readonly why: string;
}

async function reasonOf(context: EngineContext, stranded: StrandedRun): Promise<Reason> {
  const { id, segment, workflow } = stranded;
  if (workflow === 'CANCELLED') {
    const crashes = await crashesOf(context.stepContext.knex, id, segment);
    const why = `${crashes.crashes} times a worker died with it, without a step in between.`;
    if (isGivenUp(crashes, context.crashLimit)) return { code: 'limit_crashes', why };
  }
  if (workflow === null) return { code: 'run_failed', why: 'its workflow does not exist' };
  if (workflow !== 'ERROR') return { code: 'run_failed', why: `its workflow is ${workflow}` };
  const why = await countedError(context, stranded);
  return { code: /was recorded (as|when)|replay/i.test(why) ? 'replay_diverged' : 'run_failed', why };
}

/** What a workflow has recorded may be anything: a run whose error ends the process ends without it. */
async function countedError({ stepContext }: EngineContext, stranded: StrandedRun): Promise<string> {
  const tenant = (await readRun(stepContext.knex, stranded.id))?.tenant ?? 'default';
  try {
    return await counted(stepContext, { tenant, name: `error of ${stranded.id}` }, () => errorOf(stranded));
  } catch (error) {
    if (!(error instanceof HoldfastError && error.code === 'work_crashes')) throw error;
    return 'its workflow ended in an error, and processes died with reading that';
  }
}

async function errorOf(stranded: StrandedRun): Promise<string> {
  try {
    await DBOS.retrieveWorkflow(workflowIdOf(stranded.id, stranded.segment)).getResult();
    return 'its workflow ended in an error';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
