import type { Knex } from 'knex';
import type { EnvironmentName } from '../../core/containers/environment.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { grantsToJson } from '../../core/grants/grants.js';
import { canonical } from '../../core/json.js';
import { attemptPoint } from '../../core/tasks/attempt-point.js';
import type { TaskDefinition } from '../../core/tasks/task-definition.js';
import { isOfItsPlace } from '../../core/tasks/task-retries.js';
import { holdSnapshot, wholeSnapshots } from '../../storage/containers/environment-snapshots.js';
import { findEnvironment, instanceId } from '../../storage/containers/environments.js';
import { readClaim } from '../../storage/evidence/log-pages.js';
import { readKeyedEvents } from '../../storage/log/keyed-events.js';
import { errorOf, type RunRow } from '../../storage/runs/run-row.js';
import { ATTEMPT } from '../../storage/tasks/task-attempts.js';
import type { TaskRow } from '../../storage/tasks/tasks.js';
import { agentNamed, type EngineContext } from '../engine-context.js';
import { LogReading, logPages } from '../evidence/log-reading.js';
import { writeFork } from '../replay/make-fork.js';
import { newRunId } from '../runs/start-run.js';

export interface LastAttempt {
  readonly task: TaskRow;
  readonly last: RunRow;
  readonly definition: Pick<TaskDefinition, 'maxTurns' | 'timeoutSeconds'>;
}

/**
 * Writes the next attempt of a task as a fork of the last one, at the latest moment of which the files are kept. Gives the id of its run;
 * null: there is no such moment, and nothing was written. Throws as a fork does.
 */
export async function goOn(
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
 * Whether it is worth trying: not for a task that a person has put back, which begins anew, and not with an agent that is another one by
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

/** What is taken over is proven anew, under the name of the fork: nobody is there to look at it. Throws `fork_invalid`. */
async function assertWhole(trx: Knex.Transaction, { id, tenant }: RunRow): Promise<void> {
  const claim = await readClaim(trx, tenant, id);
  if (claim === undefined) throw new Error('a run that is locked is there');
  const reading = new LogReading(claim);
  for await (const page of logPages(trx, id, 0)) if (!reading.take(page)) break;
  const { broken } = await reading.report(trx);
  if (broken !== null)
    throw new HoldfastError('fork_invalid', `Event ${broken.seq} of run ${id} is broken: ${broken.what}.`);
}
