import type { Knex } from 'knex';
import { counted } from '../../../steps/exports/counted-work.js';
import type { EnvironmentName } from '../../core/containers/environment.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { grantsToJson } from '../../core/grants/grants.js';
import { canonical } from '../../core/json.js';
import { attemptPoint } from '../../core/replay/fork-files.js';
import { keptDefinition, type TaskDefinition } from '../../core/tasks/task-definition.js';
import { isOfItsPlace } from '../../core/tasks/task-retries.js';
import { holdSnapshot, wholeSnapshots } from '../../storage/containers/environment-snapshots.js';
import { findEnvironment, instanceId } from '../../storage/containers/environments.js';
import { databaseTrouble } from '../../storage/database/database-trouble.js';
import { readClaim } from '../../storage/evidence/log-pages.js';
import { asLogged } from '../../storage/integrity/copied-rows.js';
import { readKeyedEvents } from '../../storage/log/keyed-events.js';
import { requestersOf } from '../../storage/log/read-events.js';
import { errorOf, inputOf, metadataOf, type RunRow } from '../../storage/runs/run-row.js';
import { lockRun } from '../../storage/runs/runs.js';
import { ATTEMPT, nextAttempt, tasksToRetry } from '../../storage/tasks/task-attempts.js';
import { definitionIn, readDefinition } from '../../storage/tasks/task-definitions.js';
import { cancelOpenTask, lockTask, type TaskRow } from '../../storage/tasks/tasks.js';
import { dueItems } from '../concurrency/due-items.js';
import { agentNamed, type EngineContext } from '../engine-context.js';
import { LogReading, logPages } from '../evidence/log-reading.js';
import { writeFork } from '../replay/make-fork.js';
import { limitsOfStart, newRunId, writeRun } from '../runs/start-run.js';

interface LastAttempt {
  readonly task: TaskRow;
  readonly last: RunRow;
  readonly definition: Pick<TaskDefinition, 'maxTurns' | 'timeoutSeconds'>;
}

/**
 * Writes the next attempt of a task as a fork of the last one, at the latest moment whose files are kept. Gives the id of its run;
 * null: there is no such moment, and nothing was written. Throws as a fork does.
 */
async function retryFromSnapshot(
  context: EngineContext,
  trx: Knex.Transaction,
  attempt: LastAttempt,
): Promise<string | null> {
  const { task, last, definition } = attempt;
  if (!mayGoOn(context, attempt)) return null;
  const moments = await keptMoments(trx, last);
  if (moments.length === 0) return null;
  await assertWhole(trx, last);
  const log = await readKeyedEvents(trx, last.id, null);
  for (const { seq, snapshot } of moments) {
    const at = attemptPoint(log, seq);
    const files = at === null ? null : await holdSnapshot(trx, snapshot);
    if (at === null || files === null) continue;
    const id = newRunId(context);
    const { maxTurns, timeoutSeconds } = definition;
    const onward = { maxTurns, maxDurationMs: timeoutSeconds * 1000 };
    const fork = { why: 'retry', key: ATTEMPT, source: last, at: () => at, files, onward } as const;
    await writeFork(
      context,
      trx,
      { ...fork, input: undefined, edits: [] },
      { id, tenant: task.tenant, actor: null },
      async () => {},
    );
    return id;
  }
  return null;
}

/**
 * Whether it is worth trying: not for a task that a person has put back, which begins again, and not with an agent that is another one by
 * now, or is granted something else: it might not do again what the log says.
 */
function mayGoOn(context: EngineContext, { task, last }: LastAttempt): boolean {
  const { definitionHash, scaffold, grants } = agentNamed(context, task.agent);
  const isSame = definitionHash === last.agent_hash && (scaffold?.scaffold.name ?? null) === last.scaffold;
  return task.attempts !== task.attempts_before && isSame && canonical([...grantsToJson(grants)]) === last.grants;
}

interface KeptMoment {
  /** The last event of the log of the run by then. */
  readonly seq: number;
  readonly snapshot: EnvironmentName;
}

/** Moments of a run whose files are kept, the latest first. One that never came to work in its container has those that it was to begin with. */
async function keptMoments(trx: Knex.Transaction, last: RunRow): Promise<readonly KeptMoment[]> {
  const instance = await instanceId(trx);
  const run = await findEnvironment(trx, instance, { runId: last.id, purpose: 'run' });
  if (run === null) return [];
  if (run.begun)
    return (await wholeSnapshots(trx, instance, last.id)).map(({ seq, identity }) => ({ seq, snapshot: identity }));
  const { source } = run.identity;
  if (source === null || isOfItsPlace(errorOf(last)?.code ?? '')) return [];
  return [{ seq: last.recorded_seq ?? 0, snapshot: source }];
}

/** What is taken over is proven again, under the name of the fork: no one is there to look at it. Throws `fork_invalid`. */
async function assertWhole(trx: Knex.Transaction, { id, tenant }: RunRow): Promise<void> {
  const claim = await readClaim(trx, tenant, id);
  if (claim === undefined) throw new Error('a run that is locked is there');
  const reading = new LogReading(claim);
  for await (const page of logPages(trx, id, 0)) if (!reading.take(page)) break;
  const { broken } = await reading.report(trx);
  if (broken !== null)
    throw new HoldfastError('fork_invalid', `Event ${broken.seq} of run ${id} is broken: ${broken.what}.`);
}

const AT_ONCE = 50;

/** Begins the attempts that are due of tasks whose agents this process has. One that cannot begin is tried again later. */
export const retryTasks = (context: EngineContext): ((isStopping: () => boolean) => Promise<void>) =>
  dueItems<DueTask>({
    atOnce: AT_ONCE,
    find: (except, limit) => tasksToRetry(context.stepContext.knex, [...context.agents.keys()], { except, limit }),
    idOf: ({ id }) => id,
    work: async (due) => {
      if (await begin(context, due)) context.stepContext.queue.wake();
    },
    failed: ({ id, run_id: runId }, error) =>
      context.log.warn(
        { component: 'worker', event: 'task_not_retried', taskId: id, runId, error: String(error) },
        'the next attempt of a task could not begin',
      ),
  });

/** From where files of the last attempt are kept, or else from the beginning; so too where processes died with the former. */
async function begin(context: EngineContext, { id, run_id: lastRunId, tenant }: DueTask): Promise<boolean> {
  const attempt = (name: string, start: Start): Promise<boolean> =>
    counted(context.stepContext, { tenant, name: `${name} of task ${id}` }, () =>
      attemptBy(context, id, lastRunId, start),
    );
  try {
    return await attempt('next attempt', async (...at) => (await retryFromSnapshot(...at)) ?? beginAnew(...at));
  } catch (error) {
    if (databaseTrouble(error) !== null) throw error;
    // What there was to go on from does not let it. The transaction has left nothing.
    context.log.info(
      { component: 'worker', event: 'task_begins_anew', runId: lastRunId, error: String(error) },
      'the next attempt of a task cannot go on from the last one, and begins again',
    );
    return attempt('next attempt, again,', beginAnew);
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
    const definition = keptDefinition.parse(definitionIn(kept));
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
