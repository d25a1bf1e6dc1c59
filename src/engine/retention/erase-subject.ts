import type { Knex } from 'knex';
import { counted } from '../../../steps/exports/counted-work.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import { plainText } from '../../core/json.js';
import {
  type EraseSubject,
  eraseSubject as eraseShape,
  type SubjectErasureView,
} from '../../core/retention/erasure.js';
import { isOver } from '../../core/runs/run.js';
import { viewOfRow } from '../../storage/database/legible-rows.js';
import { enterForgotten } from '../../storage/evidence/log-entries.js';
import { exportsOfErasure } from '../../storage/exports/exported-runs.js';
import { removeOwned } from '../../storage/memory/erase.js';
import type { NamedWork } from '../../storage/queue/work-notes.js';
import {
  countErased,
  type ErasureRequestRow,
  findErasureRequest,
  finishErasureRequest,
  holdErasureRequest,
  insertErasureRequest,
  leftOfSubject,
  lockSubject,
  openErasureOf,
  runsOfSubject,
  takeErasureRequest,
} from '../../storage/retention/subjects.js';
import { readRun } from '../../storage/runs/runs.js';
import { maintenanceWork } from '../concurrency/repeated-work.js';
import { levelOfFailure } from '../concurrency/work-off.js';
import type { EngineContext } from '../engine-context.js';
import { stopByItself } from '../runs/cancel-run.js';
import { eraseLocked } from './delete-run.js';

const RUNS_AT_ONCE = 50;
/** For so long a request is worked on before its answer; what is left then is done in the background. */
const ANSWER_WITHIN_MS = 5000;
const TAKEN_SECONDS = 30;
const LOOK_AGAIN_SECONDS = 2;

/**
 * Erases all runs of a subject. The request is kept, and worked on until no run of the subject is left, whatever dies meanwhile;
 * no run of it starts until then. A second request while one is open is the same. Throws `run_not_over` where runs of the
 * subject are not over and are not to be cancelled.
 */
export async function eraseSubject(
  context: EngineContext,
  request: EraseSubject,
  caller: Caller,
): Promise<SubjectErasureView> {
  const parsed = eraseShape.safeParse(request);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  const { subject, cancel, dryRun } = parsed.data;
  const { tenant, actor } = caller;
  const { knex, newId } = context.stepContext;
  const reason = plainText(parsed.data.reason);
  if (dryRun) {
    const none = { id: null, erased: 0, exports: [], requestedAt: null, finishedAt: null };
    return { ...none, status: 'dry_run', subject, actor, reason, ...(await leftOfSubject(knex, tenant, subject)) };
  }
  const made = await knex.transaction(async (trx) => {
    await lockSubject(trx, tenant, subject);
    const open = await openErasureOf(trx, tenant, [subject]);
    if (open !== undefined) return open;
    if (!cancel) await assertAllOver(trx, tenant, subject);
    const id = `era_${newId().replaceAll('-', '')}`;
    return insertErasureRequest(trx, { id, tenant, subject, cancel, actor, reason });
  });
  const until = performance.now() + ANSWER_WITHIN_MS;
  const taken = await takeErasureRequest(knex, made.id);
  if (taken !== undefined)
    await counted(context.stepContext, workOf(taken), () => workOn(context, taken, () => performance.now() > until));
  return getSubjectErasure(context, made.id, caller);
}

async function assertAllOver(trx: Knex.Transaction, tenant: string, subject: string): Promise<void> {
  const { notOver } = await leftOfSubject(trx, tenant, subject);
  if (notOver.length > 0)
    throw new HoldfastError('run_not_over', `Of this subject these runs are not over: ${notOver.join(', ')}.`, {
      hint: 'Wait until they are over, or ask with `cancel`, which cancels them.',
    });
}

export async function getSubjectErasure(
  context: EngineContext,
  id: string,
  { tenant }: Caller,
): Promise<SubjectErasureView> {
  const { knex } = context.stepContext;
  const row = await findErasureRequest(knex, tenant, id);
  if (row === undefined) throw new HoldfastError('erasure_unknown', `There is no erasure ${JSON.stringify(id)}.`);
  const left = row.subject === null ? { left: 0, notOver: [] } : await leftOfSubject(knex, tenant, row.subject);
  const { status, subject, actor, reason, erased } = row;
  const times = viewOfRow(row, { table: 'erasure_requests', row: id }, (one) => ({
    ...{ requestedAt: one.requested_at.toISOString(), finishedAt: one.finished_at?.toISOString() ?? null },
  }));
  return { id, status, subject, actor, reason, erased, ...left, exports: await exportsOfErasure(knex, id), ...times };
}

/** Works on one request that someone has left, if there is one. */
export async function goOnErasing(context: EngineContext, isStopping: () => boolean): Promise<void> {
  const taken = await takeErasureRequest(context.stepContext.knex, null);
  if (taken === undefined) return;
  // One that is left out holds up no other: who looked at it is not asked again for a while.
  await maintenanceWork(context, workOf(taken), () => workOn(context, taken, isStopping));
}

const workOf = ({ tenant, id }: ErasureRequestRow): NamedWork => ({ tenant, name: `erasure ${id}` });

async function workOn(context: EngineContext, request: ErasureRequestRow, isStopping: () => boolean): Promise<void> {
  const { knex } = context.stepContext;
  const { id, tenant, subject } = request;
  if (subject === null) return;
  let after = '';
  while (!isStopping()) {
    const ids = await runsOfSubject(knex, { tenant, subject }, after, RUNS_AT_ONCE);
    for (const one of ids) {
      if (isStopping()) break;
      await eraseFor(context, request, one);
    }
    after = ids.at(-1) ?? after;
    if (ids.length < RUNS_AT_ONCE) break;
    await holdErasureRequest(knex, id, TAKEN_SECONDS);
  }
  await knex.transaction(async (trx) => {
    // A fork that is being made of one of its runs is counted, or is refused.
    await lockSubject(trx, tenant, subject);
    if ((await leftOfSubject(trx, tenant, subject)).left > 0) {
      await holdErasureRequest(trx, id, isStopping() ? 0 : LOOK_AGAIN_SECONDS);
      return;
    }
    const gone = await removeOwned(trx, { tenant, scope: 'user', owner: subject });
    await finishErasureRequest(trx, id);
    await enterForgotten(trx, gone, { actor: request.actor, reason: request.reason });
  });
}

/** What is not over yet is left for the next look, and so is one that fails: it holds up no other. */
async function eraseFor(
  context: EngineContext,
  { id, cancel, actor, reason }: ErasureRequestRow,
  runId: string,
): Promise<void> {
  const { knex } = context.stepContext;
  try {
    const run = await readRun(knex, runId);
    // Those below a run are cancelled with it: alone, the run above would go on without them.
    if (cancel && run !== undefined && !isOver(run.status) && run.parent_run_id === null) {
      await stopByItself(context, { id: runId, request: { actor, reason: null } });
      context.changes.announce(runId);
    }
    await knex.transaction(async (trx) => {
      const outcome = await eraseLocked(trx, runId, { actor, reason, requestId: id });
      if (typeof outcome !== 'string') await countErased(trx, id);
    });
    context.changes.announce(runId);
  } catch (error) {
    if (error instanceof HoldfastError && (error.code === 'run_not_over' || error.code === 'run_over')) return;
    context.log[levelOfFailure(error)](
      { component: 'erasure', event: 'run_kept', runId, erasure: id, error: String(error) },
      'a run could not be erased; it is tried again',
    );
  }
}
