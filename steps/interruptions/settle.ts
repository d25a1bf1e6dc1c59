import type { Knex } from 'knex';
import { nextDayOf } from '../../src/core/budgets/budget.js';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { type ApprovalExtras, NO_EXTRAS, saidOf } from '../../src/core/interruptions/decision.js';
import { statusAfter, type Verdict } from '../../src/core/interruptions/interruption.js';
import type { StandingRule } from '../../src/core/interruptions/standing.js';
import type { JsonValue } from '../../src/core/json.js';
import type { EventDraft } from '../../src/core/log/event.js';
import type { Wait } from '../../src/core/runs/ending.js';
import { lockEventName, payloadOf, takeKeptEvent } from '../../src/storage/interruptions/emitted-events.js';
import type { DecisionRow, InterruptionRow } from '../../src/storage/interruptions/interruption-rows.js';
import {
  insertDecisions,
  isPast,
  saidOnEach,
  settleInterruptions,
  waitOf,
} from '../../src/storage/interruptions/interruptions.js';
import { insertStanding } from '../../src/storage/interruptions/standing-decisions.js';
import { appendEvents, appendToEach } from '../../src/storage/log/events.js';
import { isoNow, type StepContext } from '../context.js';

export interface Settlement {
  readonly verdict: Verdict;
  readonly actor: string;
  readonly message: string | null;
  readonly value: JsonValue;
  /** What an approval says beyond yes. */
  readonly extras?: ApprovalExtras;
}

/** Who settles what no one decides: time, an event, another run. */
export const SYSTEM_ACTOR = 'holdfast';

/** An interruption and what was said on it by now. */
export interface SettledRow {
  readonly row: InterruptionRow;
  readonly decision: DecisionRow;
}

/** Settles an interruption and writes its event. Under the lock of the run's row. */
export async function settle(
  ctx: StepContext,
  trx: Knex.Transaction,
  row: InterruptionRow,
  settling: Settlement,
): Promise<SettledRow> {
  const [said] = await settleEach(ctx, trx, [{ row, settling }]);
  if (said === undefined) throw new HoldfastError('internal', `Interruption ${row.id} was settled and is not there.`);
  const { standing } = settling.extras ?? NO_EXTRAS;
  if (standing !== null) await makeStanding(ctx, trx, row, standing);
  return said;
}

export interface InterruptionSettlement {
  readonly row: InterruptionRow;
  /** Standing decisions are made by `settle` alone. */
  readonly settling: Settlement;
}

/**
 * Settles interruptions of any runs and writes their events, in as many statements as for one. Under the locks of the rows of their
 * runs.
 */
export async function settleEach(
  ctx: StepContext,
  trx: Knex.Transaction,
  all: readonly InterruptionSettlement[],
): Promise<readonly SettledRow[]> {
  if (all.length === 0) return [];
  const [settled, decisions] = await Promise.all([
    settleInterruptions(
      trx,
      all.map(({ row, settling }) => ({ id: row.id, status: statusAfter(settling.verdict) })),
    ),
    keep(trx, all),
    appendToEach(
      trx,
      [...new Set(all.map(({ row }) => row.run_id))].map((runId) => ({
        runId,
        drafts: all.filter(({ row }) => row.run_id === runId).map(decidedDraft),
      })),
      { at: isoNow(ctx), worker: null },
    ),
  ]);
  const rowOf = new Map(settled.map((row) => [row.id, row]));
  const decisionOf = new Map(decisions.map((decision) => [decision.interruption_id, decision]));
  return all.flatMap(({ row }) => {
    const decision = decisionOf.get(row.id);
    return decision === undefined ? [] : [{ row: rowOf.get(row.id) ?? row, decision }];
  });
}

/** The event of a settlement. */
function decidedDraft({ row, settling }: InterruptionSettlement): EventDraft {
  const { verdict, actor, message, value, extras = NO_EXTRAS } = settling;
  return {
    ...{ key: `decision:${row.id}`, parentKey: `interruption:${row.id}`, kind: 'interruption.decided' },
    data: { id: row.id, verdict, actor, message, value, digest: row.digest, ...saidOf(extras) },
  };
}

/** One approval of several: it is kept, and the interruption still waits. Under the lock of the run's row. */
export async function vote(
  ctx: StepContext,
  trx: Knex.Transaction,
  row: InterruptionRow,
  settling: Settlement,
): Promise<SettledRow> {
  const { actor, message, extras = NO_EXTRAS } = settling;
  const [decision] = await keep(trx, [{ row, settling }]);
  if (decision === undefined) throw new HoldfastError('internal', `The vote on ${row.id} was kept and is not there.`);
  const number = decision.vote;
  await append(ctx, trx, row, {
    ...{ key: `vote:${row.id}:${number}`, parentKey: `interruption:${row.id}`, kind: 'interruption.voted' },
    data: { id: row.id, vote: number, actor, message, digest: row.digest, ...saidOf(extras) },
  });
  return { row, decision };
}

async function keep(trx: Knex.Transaction, all: readonly InterruptionSettlement[]): Promise<readonly DecisionRow[]> {
  const said = await saidOnEach(
    trx,
    all.map(({ row }) => row),
  );
  const votesOn = (row: InterruptionRow): number => said.filter((one) => one.interruption_id === row.id).length;
  return insertDecisions(
    trx,
    all.map(({ row, settling: { extras = NO_EXTRAS, ...made } }) => ({
      ...{ row, ...made, vote: votesOn(row) + 1, edit: extras.edit, always: extras.always },
    })),
  );
}

async function makeStanding(
  ctx: StepContext,
  trx: Knex.Transaction,
  row: InterruptionRow,
  rule: StandingRule,
): Promise<void> {
  await insertStanding(trx, { ...rule, runId: row.run_id, tenant: row.tenant, interruptionId: row.id });
  const { id, agent, tool, toolVersion, scope, exact, actor } = rule;
  await append(ctx, trx, row, {
    ...{ key: `standing:${id}`, parentKey: `decision:${row.id}`, kind: 'standing_decision.made' },
    data: { id, interruption: row.id, agent, tool, toolVersion, scope: [...scope], exact, actor },
  });
}

async function append(ctx: StepContext, trx: Knex.Transaction, row: InterruptionRow, draft: EventDraft): Promise<void> {
  await appendEvents(trx, row.run_id, [draft], { at: isoNow(ctx), worker: null });
}

/** What becomes of an interruption whose time has come: a timer is due, a budget has another day, everything else has expired. */
function verdictOfTime(row: InterruptionRow): Verdict {
  if (row.kind === 'timer') return 'answer';
  const spec = row.kind === 'budget' ? waitOf(row)?.spec : undefined;
  // A run that waited before there was this rule waits for as long as an approval.
  const isNextDay = spec?.kind === 'budget' && nextDayOf(spec) === row.expires_at?.toISOString();
  return isNextDay ? 'approve' : 'expire';
}

/** What time says of an interruption whose time has come. */
export const settlementByTime = (row: InterruptionRow): InterruptionSettlement => ({
  row,
  settling: { verdict: verdictOfTime(row), actor: SYSTEM_ACTOR, message: null, value: null },
});

/**
 * Keeps events of the names that a run comes to wait for out of this transaction's way: one that was told before is found
 * by it, one that is told after finds its waits. To be called before the row of the run is locked.
 */
export async function lockEventsOf(trx: Knex.Transaction, tenant: string, waits: readonly Wait[]): Promise<void> {
  const names = waits.flatMap(({ inside }) => (inside?.spec.kind === 'event' ? [inside.spec.name] : []));
  for (const name of [...new Set(names)].sort()) await lockEventName(trx, tenant, name);
}

/**
 * Settles of what a run comes to wait for what was there before, in the transaction that pauses the run: a time that is past,
 * an event that was told. Under the lock of the run's row.
 */
export async function settleWhatIsThere(
  ctx: StepContext,
  trx: Knex.Transaction,
  pending: readonly InterruptionRow[],
): Promise<void> {
  for (const row of pending) {
    if (row.kind === 'timer' && isPast(row, ctx.now())) await settleEach(ctx, trx, [settlementByTime(row)]);
    if (row.kind === 'event') await settleKept(ctx, trx, row);
  }
}

async function settleKept(ctx: StepContext, trx: Knex.Transaction, row: InterruptionRow): Promise<void> {
  const spec = waitOf(row)?.spec;
  if (spec?.kind !== 'event') return;
  const wait = { tenant: row.tenant, runId: row.run_id, name: spec.name, key: spec.key };
  const event = await takeKeptEvent(trx, wait, new Date(ctx.now()));
  if (event === null) return;
  const value: JsonValue = { eventId: event.id, payload: payloadOf(event) };
  await settle(ctx, trx, row, { verdict: 'answer', actor: event.actor, message: null, value });
}
