import { currentOwnerXid, type DBOSLocalCtx, getCurrentContextStore } from '@dbos-inc/dbos-sdk/internal/context';
import { DBOSExecutor } from '@dbos-inc/dbos-sdk/internal/dbos-executor';
import {
  DBOSStepNondeterminismError,
  DBOSWorkflowCancelledError,
  DBOSWorkflowConflictError,
} from '@dbos-inc/dbos-sdk/internal/error';
import { withDbRetry } from '@dbos-inc/dbos-sdk/internal/system_database';
import { z } from 'zod';
import { currentSegment, type SegmentContext } from '../../../workflows/segment-context.js';
import {
  readHistory,
  readStatus,
  type StepResult,
  type StepToSave,
  saveOutput,
} from '../../storage/dbos/checkpoints.js';
import type { Execution } from '../../storage/dbos/segment-rows.js';
import { StepGroup } from '../../storage/dbos/step-group.js';
import { StepsAhead } from '../../storage/dbos/steps-ahead.js';
import { elapsedMs } from '../concurrency/repeated-work.js';

/**
 * Uses a private part of the DBOS SDK 5.3: how an execution of a workflow finds and keeps the results of its steps. DBOS
 * makes seven journeys to the database for each step; here it is one. What is kept, and who may keep it, are the same. Where
 * the part is missing, DBOS's own way is what remains.
 */

/** For how long a look whether a workflow is cancelled is good, in milliseconds. Keeping a step looks again. */
const LOOK_GOOD_MS = 1000;

const shape = z.object({
  pool: z.object({ query: z.instanceof(Function) }),
  schemaName: z.string(),
  checkIfCanceled: z.instanceof(Function),
  getOperationResultAndThrowIfCancelled: z.instanceof(Function),
  recordOperationResult: z.instanceof(Function),
  recordWorkflowOutput: z.instanceof(Function),
});

/** The execution of a workflow that the code at work belongs to; null: it belongs to none, or this DBOS keeps no owner. */
export function currentExecution(): Execution | null {
  const workflowId = getCurrentContextStore()?.workflowId;
  const owner = workflowId === undefined ? undefined : currentOwnerXid(workflowId);
  return workflowId === undefined || owner === undefined ? null : { workflowId, owner };
}

/** What an execution knows of its workflow. No one else adds to it: the one that takes the workflow over takes its token, too. */
interface Known {
  readonly steps: ReadonlyMap<number, StepResult>;
  readonly lookedAt: number;
}

/**
 * Shortens the way of DBOS, which was launched, to its steps. `isNew`: whether the execution that asks is the first of its workflow, and
 * has kept no step. False: DBOS has changed inside.
 */
export function shortenCheckpoints(isNew: () => boolean): boolean {
  const system: unknown = DBOSExecutor.globalInstance?.systemDatabase;
  if (!shape.safeParse(system).success) return false;
  const dbos = system as NonNullable<typeof DBOSExecutor.globalInstance>['systemDatabase'];
  const { pool, schemaName, appName } = dbos;
  const application = appName ?? null;
  const group = new StepGroup(pool, schemaName);
  const executions = new WeakMap<DBOSLocalCtx, Known>();

  const look = async (workflowId: string): Promise<Known | null> => {
    const execution = getCurrentContextStore();
    if (execution === undefined || currentOwnerXid(workflowId) === undefined) return null;
    const known = executions.get(execution);
    if (known !== undefined && performance.now() - known.lookedAt < LOOK_GOOD_MS) return known;
    const lookedAt = performance.now();
    if (known === undefined && isNew()) {
      const nothing = { steps: new Map(), lookedAt };
      executions.set(execution, nothing);
      return nothing;
    }
    const found =
      known === undefined
        ? await withDbRetry(() => readHistory(pool, schemaName, workflowId))
        : { status: await withDbRetry(() => readStatus(pool, schemaName, workflowId)), steps: known.steps };
    if (found.status === 'CANCELLED') throw new DBOSWorkflowCancelledError(workflowId);
    const now = { steps: found.steps, lookedAt };
    executions.set(execution, now);
    return now;
  };

  const saveOf = (segment: SegmentContext, steps: readonly StepToSave[]): Promise<readonly (number | null)[]> =>
    withDbRetry(async () => {
      const sentAt = elapsedMs();
      const kept = await group.saveInOrder(steps);
      if (!kept.includes(null)) segment.provenAt = Math.max(segment.provenAt, sentAt);
      return kept;
    });

  const own = {
    check: dbos.checkIfCanceled.bind(dbos),
    find: dbos.getOperationResultAndThrowIfCancelled.bind(dbos),
    keep: dbos.recordOperationResult.bind(dbos),
    end: dbos.recordWorkflowOutput.bind(dbos),
  };
  const shortened: Pick<
    typeof dbos,
    'checkIfCanceled' | 'getOperationResultAndThrowIfCancelled' | 'recordOperationResult' | 'recordWorkflowOutput'
  > = {
    checkIfCanceled: async (workflowId) => {
      if ((await look(workflowId)) === null) await own.check(workflowId);
    },
    getOperationResultAndThrowIfCancelled: async (workflowId, functionId) => {
      const known = await look(workflowId);
      return known === null ? own.find(workflowId, functionId) : known.steps.get(functionId);
    },
    recordOperationResult: async (
      workflowId,
      functionId,
      functionName,
      checkConflict,
      startedAt,
      completedAt,
      result = {},
    ) => {
      const owner = currentOwnerXid(workflowId);
      const scope = currentSegment();
      const segment = typeof scope === 'object' && scope !== null ? scope : undefined;
      const outcomes = segment?.outcomes;
      if (owner === undefined)
        return own.keep(workflowId, functionId, functionName, checkConflict, startedAt, completedAt, result);
      const { output = null, error = null, childWorkflowID = null, serialization = null } = result;
      const step = {
        ...{ workflowId, functionId, functionName, owner, startedAt, completedAt, application },
        ...{ output, error, childWorkflowID, serialization },
      };
      const saved = { step, call: outcomes?.get(functionName) ?? null };
      outcomes?.delete(functionName);
      const goesAhead = segment?.goesAhead.delete(functionName) ?? false;
      const check = (keptAt: number | null): void => {
        const isOther = checkConflict && keptAt !== completedAt;
        // What is heard in another step is no result of that: by this error DBOS records nothing.
        if (keptAt === null || (isOther && goesAhead)) throw new DBOSWorkflowConflictError(workflowId);
        if (isOther) throw new DBOSStepNondeterminismError(workflowId, functionId);
      };
      if (segment === undefined) return check(await withDbRetry(() => group.save(step, saved.call)));
      segment.steps ??= new StepsAhead((steps) => saveOf(segment, steps));
      if (goesAhead) await segment.steps.goAhead(saved, check);
      else await segment.steps.keep(saved, check);
    },
    recordWorkflowOutput: async (workflowId, ended, ownerXid) => {
      const owner = ownerXid ?? currentOwnerXid(workflowId);
      if (owner === undefined) return own.end(workflowId, ended, ownerXid);
      const output = ended.output ?? null;
      return withDbRetry(() => saveOutput(pool, schemaName, { workflowId, owner, output }));
    },
  };
  Object.assign(dbos, shortened);
  return true;
}
