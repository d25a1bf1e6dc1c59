import type { Knex } from 'knex';
import { nextDayOf } from '../src/core/budget.js';
import { type ApprovalExtras, NO_EXTRAS, saidOf } from '../src/core/decision.js';
import type { Wait } from '../src/core/ending.js';
import type { EventDraft } from '../src/core/event.js';
import { statusAfter, type Verdict } from '../src/core/interruption.js';
import type { JsonValue } from '../src/core/json.js';
import type { StandingRule } from '../src/core/standing.js';
import { lockEventName, takeKeptEvent } from '../src/storage/emitted-events.js';
import { appendEvents } from '../src/storage/events.js';
import type { DecisionRow, InterruptionRow } from '../src/storage/interruption-rows.js';
import { insertDecision, isPast, saidOn, settleInterruption, waitOf } from '../src/storage/interruptions.js';
import { insertStanding } from '../src/storage/standing-decisions.js';
import { isoNow, type World } from './world.js';

export interface Settling {
  readonly verdict: Verdict;
  readonly actor: string;
  readonly message: string | null;
  readonly value: JsonValue;
  /** What an approval says beyond yes. */
  readonly extras?: ApprovalExtras;
}

/** Who settles what nobody decides: time, an event, another run. */
export const NOBODY = 'holdfast';

/** An interruption and what was said on it by now. */
export interface Said {
  readonly row: InterruptionRow;
  readonly decision: DecisionRow;
}

/** Settles an interruption and writes its event. Under the lock of the run's row. */
export async function settle(
  world: World,
  trx: Knex.Transaction,
  row: InterruptionRow,
  settling: Settling,
): Promise<Said> {
  const { verdict, actor, message, value, extras = NO_EXTRAS } = settling;
  const [settled, decision] = await Promise.all([
    settleInterruption(trx, row, statusAfter(verdict)),
    keep(trx, row, settling),
    append(world, trx, row, {
      ...{ key: `decision:${row.id}`, parentKey: `interruption:${row.id}`, kind: 'interruption.decided' },
      data: { id: row.id, verdict, actor, message, value, digest: row.digest, ...saidOf(extras) },
    }),
  ]);
  if (extras.standing !== null) await makeStanding(world, trx, row, extras.standing);
  return { row: settled, decision };
}

/** One approval of several: it is kept, and the interruption still waits. Under the lock of the run's row. */
export async function vote(
  world: World,
  trx: Knex.Transaction,
  row: InterruptionRow,
  settling: Settling,
): Promise<Said> {
  const { actor, message, extras = NO_EXTRAS } = settling;
  const decision = await keep(trx, row, settling);
  const number = decision.vote;
  await append(world, trx, row, {
    ...{ key: `vote:${row.id}:${number}`, parentKey: `interruption:${row.id}`, kind: 'interruption.voted' },
    data: { id: row.id, vote: number, actor, message, digest: row.digest, ...saidOf(extras) },
  });
  return { row, decision };
}

async function keep(trx: Knex.Transaction, row: InterruptionRow, settling: Settling): Promise<DecisionRow> {
  const { extras = NO_EXTRAS, ...made } = settling;
  const vote = (await saidOn(trx, row)).length + 1;
  return insertDecision(trx, row, { ...made, vote, edit: extras.edit, always: extras.always });
}

async function makeStanding(
  world: World,
  trx: Knex.Transaction,
  row: InterruptionRow,
  rule: StandingRule,
): Promise<void> {
  await insertStanding(trx, { ...rule, runId: row.run_id, tenant: row.tenant, interruptionId: row.id });
  const { id, agent, tool, toolVersion, scope, exact, actor } = rule;
  await append(world, trx, row, {
    ...{ key: `standing:${id}`, parentKey: `decision:${row.id}`, kind: 'standing_decision.made' },
    data: { id, interruption: row.id, agent, tool, toolVersion, scope: [...scope], exact, actor },
  });
}

async function append(world: World, trx: Knex.Transaction, row: InterruptionRow, draft: EventDraft): Promise<void> {
  await appendEvents(trx, row.run_id, [draft], { at: isoNow(world), worker: null });
}

/** What becomes of an interruption whose time has come: a timer is due, a budget has another day, everything else has expired. */
function verdictOfTime(row: InterruptionRow): Verdict {
  if (row.kind === 'timer') return 'answer';
  const spec = row.kind === 'budget' ? waitOf(row)?.spec : undefined;
  // A run that waited before there was this rule waits for as long as an approval.
  const isNextDay = spec?.kind === 'budget' && nextDayOf(spec) === row.expires_at?.toISOString();
  return isNextDay ? 'approve' : 'expire';
}

/** Settles an interruption whose time has come. */
export const settleDue = (world: World, trx: Knex.Transaction, row: InterruptionRow): Promise<Said> =>
  settle(world, trx, row, {
    ...{ verdict: verdictOfTime(row), actor: NOBODY, message: null, value: null },
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
  world: World,
  trx: Knex.Transaction,
  pending: readonly InterruptionRow[],
): Promise<void> {
  for (const row of pending) {
    if (row.kind === 'timer' && isPast(row, world.now())) await settleDue(world, trx, row);
    if (row.kind === 'event') await settleKept(world, trx, row);
  }
}

async function settleKept(world: World, trx: Knex.Transaction, row: InterruptionRow): Promise<void> {
  const spec = waitOf(row)?.spec;
  if (spec?.kind !== 'event') return;
  const wait = { tenant: row.tenant, runId: row.run_id, name: spec.name, key: spec.key };
  const event = await takeKeptEvent(trx, wait, new Date(world.now()));
  if (event === null) return;
  const value: JsonValue = { eventId: event.id, payload: JSON.parse(event.payload) };
  await settle(world, trx, row, { verdict: 'answer', actor: event.actor, message: null, value });
}
