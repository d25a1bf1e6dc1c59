import type { Knex } from 'knex';
import { vote } from '../../../steps/interruptions/settle.js';
import { settleAndResume } from '../../../steps/interruptions/settle-and-resume.js';
import { raisedLimit } from '../../core/budgets/budget.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError, isOfOne } from '../../core/errors/errors.js';
import type {
  DecidedMany,
  DecideMany,
  DecisionRequest,
  InterruptionView,
  ListedInterruption,
} from '../../core/interruptions/interruption.js';
import type { JsonValue } from '../../core/json.js';
import { nanosOf } from '../../core/money.js';
import type { Page } from '../../core/page.js';
import { raiseLimit } from '../../storage/budgets/budgets.js';
import { atOneMoment } from '../../storage/database/transactions.js';
import { shownInterruption } from '../../storage/integrity/legible-rows.js';
import { falseInterruptions, type Long } from '../../storage/integrity/shown-rows.js';
import type { InterruptionRow } from '../../storage/interruptions/interruption-rows.js';
import {
  decisionsOf,
  findInterruption,
  type InterruptionFilter,
  interruptionViewOf,
  isPast,
  listInterruptionRows,
  lockInterruption,
  waitOf,
} from '../../storage/interruptions/interruptions.js';
import { cursorAfter } from '../../storage/runs/run-list.js';
import { assertNotErased } from '../../storage/runs/runs.js';
import { runsOfCalls } from '../../storage/runs/runs-to-resume.js';
import type { UntilSignal } from '../concurrency/concurrency-limits.js';
import type { EngineContext } from '../engine-context.js';
import { beginningOf, isLong } from '../runs/read-runs.js';
import { expire, settlePast } from '../workers/due-deadlines.js';
import { unfitNow } from './approval-terms.js';
import { judgeRequest } from './judge-request.js';

export const unknownInterruption = (id: string): HoldfastError =>
  new HoldfastError('interruption_unknown', `There is no interruption ${JSON.stringify(id)}.`);

/**
 * What people see of interruptions, with what of it is not what the logs of their runs say; of those that wait, also whether the call
 * would run as this process knows its tool. In a transaction that sees one moment.
 */
async function viewsOf(
  context: EngineContext,
  knex: Knex.Transaction,
  rows: readonly InterruptionRow[],
  long: Long,
): Promise<InterruptionView[]> {
  const decisions = await decisionsOf(
    knex,
    rows.map((row) => row.id),
  );
  const seen = await falseInterruptions(knex, rows, decisions, long);
  // What a row says that someone has changed is not looked into.
  const waits = ({ id, status, kind }: InterruptionRow) =>
    status === 'pending' && kind === 'approval' && seen.get(id)?.length === 0;
  const runs = await runsOfCalls(
    knex,
    rows.filter(waits).map((row) => row.run_id),
  );
  const agents = await context.versions.agentsOfEach([...runs.values()], knex);
  return rows.map((row) => {
    const run = waits(row) ? runs.get(row.run_id) : undefined;
    const of = run === undefined ? undefined : agents.get(run.id);
    const unfit = run === undefined || of === undefined ? null : (unfitNow(of, run, row)?.text ?? null);
    return shownInterruption(row, decisions, { unfit, integrity: seen.get(row.id) ?? [] });
  });
}

export async function getInterruption(context: EngineContext, id: string, caller: Caller): Promise<InterruptionView> {
  const { knex } = context.stepContext;
  const find = async (db: Knex) => [(await findInterruption(db, caller.tenant, id)) ?? []].flat();
  await settlePast(context, await find(knex));
  const [view] = await atOneMoment(knex, async (trx) => viewsOf(context, trx, await find(trx), 'whole'));
  if (view === undefined) throw unknownInterruption(id);
  return view;
}

function listed(view: InterruptionView, args: string): ListedInterruption {
  if (!isLong(args)) return { ...view, cut: null };
  const whole = `/api/v1/interruptions/${encodeURIComponent(view.id)}`;
  return { ...view, arguments: beginningOf(args), cut: { fields: ['arguments'], whole } };
}

export async function listInterruptions(
  context: EngineContext,
  filter: InterruptionFilter & { readonly limit: number; readonly cursor?: string },
  caller: Caller,
): Promise<Page<ListedInterruption>> {
  const { knex } = context.stepContext;
  const list = (db: Knex) => listInterruptionRows(db, { ...filter, tenant: caller.tenant });
  await settlePast(context, (await list(knex)).rows);
  const { page, views } = await atOneMoment(knex, async (trx) => {
    const page = await list(trx);
    return { page, views: await viewsOf(context, trx, page.rows, 'short') };
  });
  const items = views.map((view, at) => listed(view, page.rows[at]?.arguments ?? ''));
  return { items, nextCursor: cursorAfter(page) };
}

export async function decide(
  context: EngineContext,
  id: string,
  request: DecisionRequest,
  caller: Caller,
): Promise<InterruptionView> {
  const { actor } = caller;
  let overdue: string | null = null;
  const made = settleAndResume(context.stepContext, async (settling) => {
    const { trx } = settling;
    const { run, row } = await lockInterruption(trx, caller.tenant, id);
    if (row === undefined || run === undefined) throw unknownInterruption(id);
    assertNotErased(run);
    settling.runIds.add(run.id);
    if (row.status === 'pending' && isPast(row, context.stepContext.now())) overdue = run.id;
    const { choice, effect, extras, before, said } = await judgeRequest(context, trx, { run, row }, request, actor);
    if (effect === 'same') return before;
    const { verdict, message, value } = choice;
    const made = { verdict, actor, message, value, extras };
    if (verdict === 'approve' && row.kind === 'budget') await raiseBudget(trx, row, value);
    const now =
      effect === 'vote' ? await vote(context.stepContext, trx, row, made) : await settling.settle(run, row, made);
    return interruptionViewOf(now.row, [...said, now.decision]);
  });
  return made.catch(async (error: unknown) => {
    // From here on everybody reads what this decision was refused for.
    if (overdue !== null) await expire(context, overdue, id);
    throw error;
  });
}

async function raiseBudget(trx: Knex.Transaction, row: InterruptionRow, value: JsonValue): Promise<void> {
  const spec = waitOf(row)?.spec;
  if (spec?.kind === 'budget') await raiseLimit(trx, spec.budget, nanosOf(raisedLimit.parse(value).limitUsd));
}

/** Decisions of one request that are worked on together. */
const TOGETHER = 4;

/** What is decided by itself only: an answer to it says more than yes or no, or a person has to look closely. */
function assertPlain({ id, kind, reason }: InterruptionView): void {
  if (kind === 'approval' && reason.code !== 'unknown_effect') return;
  const what = reason.code === 'unknown_effect' ? 'a call that may have happened' : `of the kind ${kind}`;
  throw new HoldfastError('verdict_not_allowed', `${id} is ${what}: it is decided by itself.`);
}

/** Decides each by itself: what is refused of one stops none of the others. */
export async function decideMany(
  context: EngineContext,
  { verdict, items, message }: DecideMany,
  caller: Caller,
  { signal }: UntilSignal = {},
): Promise<DecidedMany> {
  const said = message === undefined ? {} : { message };
  const one = async (id: string, digest: string): Promise<DecidedMany['items'][number]> => {
    try {
      signal?.throwIfAborted();
      assertPlain(await getInterruption(context, id, caller));
      const { status } = await decide(context, id, { verdict, digest, ...said }, caller);
      return { id, status, error: null };
    } catch (error) {
      if (signal?.aborted === true || !isOfOne(error)) throw error;
      return { id, status: null, error: { code: error.code, detail: error.message } };
    }
  };
  const unique = [...new Map(items.map(({ id, digest }) => [id, digest]))];
  const decided: DecidedMany['items'] = [];
  for (let at = 0; at < unique.length; at += TOGETHER)
    decided.push(...(await Promise.all(unique.slice(at, at + TOGETHER).map(([id, digest]) => one(id, digest)))));
  return { items: decided };
}
