import type { Caller } from '../../core/caller.js';
import { HoldfastError, isOfOne } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import type { Integrity } from '../../core/integrity.js';
import type { Page } from '../../core/page.js';
import {
  type ShownTrajectory,
  STEPS_LIMIT,
  STEPS_MAX_CHARS,
  type TrajectorySummary,
  type UnreadTrajectory,
} from '../../core/trajectories/trajectory.js';
import { type TrajectoryFilter, trajectoryFilter } from '../../core/trajectories/trajectory-result.js';
import { chargesOfRuns } from '../../storage/budgets/charges.js';
import { alsoUnread, isRowChanged } from '../../storage/database/legible-rows.js';
import { atOneMoment } from '../../storage/database/transactions.js';
import { shownRun } from '../../storage/integrity/legible-rows.js';
import { shownOf } from '../../storage/integrity/shown-rows.js';
import { cursorAfter } from '../../storage/runs/run-list.js';
import type { RunRow } from '../../storage/runs/run-row.js';
import { assertNotErased, findRun } from '../../storage/runs/runs.js';
import { lastRewards } from '../../storage/tasks/rewards.js';
import { listTrajectoryRows, readTrajectory, shownSummary } from '../../storage/trajectories/trajectories.js';
import type { EngineContext } from '../engine-context.js';
import { indexShortDue } from './index-trajectories.js';

/** The record of a run, with steps after a step. Throws `run_unknown`, `run_erased`. */
export async function getTrajectory(
  context: EngineContext,
  id: string,
  caller: Caller,
  { after = 0, limit = STEPS_LIMIT }: { readonly after?: number; readonly limit?: number } = {},
  signal?: AbortSignal,
): Promise<ShownTrajectory> {
  const found = await findShown(context, id, caller);
  if (found === null) throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);
  assertNotErased(found.row);
  return shownRecord(context, found, { after, limit }, signal);
}

/** A run, and where its row is not what its log says. */
interface Found {
  readonly row: RunRow;
  readonly integrity: Integrity;
}

/** Null: there is none. */
const findShown = ({ stepContext: { knex } }: EngineContext, id: string, { tenant }: Caller): Promise<Found | null> =>
  atOneMoment(knex, async (trx) => {
    const row = await findRun(trx, tenant, id);
    return row === undefined ? null : { row, integrity: (await shownOf(trx, [row], 'whole')).get(id)?.integrity ?? [] };
  });

async function shownRecord(
  { stepContext: { knex } }: EngineContext,
  { row, integrity }: Found,
  steps: { readonly after: number; readonly limit: number },
  signal?: AbortSignal,
): Promise<ShownTrajectory> {
  const { id } = row;
  const reward = readBeside('rewards', id, (await lastRewards(knex, [id])).get(id));
  const charges = readBeside('charges', id, (await chargesOfRuns(knex, [id])).get(id));
  const beside = { row, reward: reward.read, charges: charges.read ?? new Map() };
  const { record } = await readTrajectory(knex, beside, { ...steps, maxChars: STEPS_MAX_CHARS }, signal);
  const unread = [...shownRun(row, [], []).integrity, ...reward.unread, ...charges.unread];
  return { ...record, integrity: alsoUnread(integrity, unread) };
}

/** Rows of a run beside its log; null, with what is said of them, where one of them cannot be read. */
function readBeside<T>(
  table: string,
  runId: string,
  read: (() => T) | undefined,
): { readonly read: T | null; readonly unread: Integrity } {
  try {
    return { read: read?.() ?? null, unread: [] };
  } catch (error) {
    if (!isRowChanged(error)) throw error;
    return { read: null, unread: [{ table, row: runId, column: null, what: error.message }] };
  }
}

function filterOf(asked: TrajectoryFilter): TrajectoryFilter {
  const parsed = trajectoryFilter.safeParse(asked);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  return parsed.data;
}

/** Runs as trajectories without their steps, newest first. Throws `invalid_request`. */
export async function listTrajectories(
  context: EngineContext,
  { limit, cursor, ...asked }: TrajectoryFilter & { readonly limit: number; readonly cursor?: string },
  caller: Caller,
): Promise<Page<TrajectorySummary>> {
  const filter = filterOf(asked);
  const { knex } = context.stepContext;
  await indexShortDue(context, caller.tenant);
  const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
  const { given, seen } = await atOneMoment(knex, async (trx) => {
    const given = await listTrajectoryRows(trx, caller.tenant, filter, page);
    return { given, seen: await shownOf(trx, given.rows, 'short') };
  });
  const rewards = await lastRewards(
    knex,
    given.rows.map(({ id }) => id),
  );
  return {
    items: given.rows.map((row) => {
      const { read: reward, unread } = readBeside('rewards', row.id, rewards.get(row.id));
      const unreadable = [...shownRun(row, [], []).integrity, ...unread];
      return shownSummary(row, reward, alsoUnread(seen.get(row.id)?.integrity ?? [], unreadable));
    }),
    nextCursor: cursorAfter(given),
  };
}

const PAGE = 50;

/** Null: it was deleted since, or nothing is left of it. */
async function wholeRecord(
  context: EngineContext,
  id: string,
  caller: Caller,
): Promise<ShownTrajectory | UnreadTrajectory | null> {
  const readable = async () => {
    const found = await findShown(context, id, caller);
    return found === null || found.row.erased_at !== null ? null : found;
  };
  try {
    const found = await readable();
    return found && (await shownRecord(context, found, { after: 0, limit: Number.POSITIVE_INFINITY }));
  } catch (error) {
    if (!isOfOne(error)) throw error;
    return (await readable()) && { runId: id, unread: error.view() };
  }
}

/** Records one after the other, newest first; one is in memory at a time. One that cannot be read is named. Throws `invalid_request`. */
export async function* streamTrajectories(
  context: EngineContext,
  asked: TrajectoryFilter,
  caller: Caller,
): AsyncIterable<ShownTrajectory | UnreadTrajectory> {
  const filter = filterOf(asked);
  const { knex } = context.stepContext;
  await indexShortDue(context, caller.tenant);
  let cursor: string | null = null;
  do {
    const page: { limit: number; cursor?: string } = { limit: PAGE, ...(cursor === null ? {} : { cursor }) };
    const found = await listTrajectoryRows(knex, caller.tenant, filter, page);
    for (const { id } of found.rows) {
      const one = await wholeRecord(context, id, caller);
      if (one !== null) yield one;
    }
    cursor = cursorAfter(found);
  } while (cursor !== null);
}
