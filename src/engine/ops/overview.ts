import { budgetsFor } from '../../core/budgets/budget.js';
import { type Caller, mayOperate } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { usdOf } from '../../core/money.js';
import {
  type AccessView,
  type BudgetList,
  type ErrorGroups,
  OVERVIEW_MOST,
  type QueueOverview,
  SERIES_KEYS,
  SERIES_POINTS,
  SERIES_ROWS,
  type SeriesName,
  type StatsSeries,
} from '../../core/ops/overview.js';
import type { Stats } from '../../core/ops/stats.js';
import type { Page, PageOf } from '../../core/page.js';
import { legibleRows, timeOf, timeOrNull, viewOfRow } from '../../storage/database/legible-rows.js';
import { atOneMoment } from '../../storage/database/transactions.js';
import { countPending } from '../../storage/interruptions/interruptions.js';
import { type AccessFilter, type KeptAccess, listAccessRows } from '../../storage/ops/access-log.js';
import {
  budgetRows,
  databaseDay,
  errorRows,
  queueRows,
  type SeriesRow,
  seriesRows,
} from '../../storage/ops/overview.js';
import { cursorAfter } from '../../storage/runs/run-list.js';
import type { EngineContext } from '../engine-context.js';
import { beginningOf, statusOf } from '../runs/read-runs.js';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MESSAGE_CHARS = 300;

const getQueue = ({ stepContext: { knex } }: EngineContext, { tenant }: Caller): Promise<QueueOverview> =>
  atOneMoment(knex, async (trx) => {
    const { total, byAgent, bySession, tenantLimit } = await queueRows(trx, tenant);
    return {
      ...{ queued: total.queued, running: total.running, oldestAt: timeOrNull(total.oldest) },
      byAgent: byAgent.map(({ name, queued, running, oldest, limit }) => ({
        ...{ name: name ?? '', queued, running, oldestAt: timeOrNull(oldest), atOnce: limit },
      })),
      bySession: bySession.map(({ name, queued, running, oldest }) => ({
        ...{ name: name ?? '', queued, running, oldestAt: timeOrNull(oldest) },
      })),
      ...{ tenantAtOnce: tenantLimit, atLeast: total.rows > OVERVIEW_MOST },
    };
  });

interface Range {
  readonly from?: Date;
  readonly to?: Date;
}

/** Throws `invalid_request` where the range ends before it begins. */
function rangeOf({ from, to }: Range): { readonly from: Date; readonly to: Date } {
  const end = to ?? new Date();
  const begin = from ?? new Date(end.getTime() - DAY_MS);
  if (begin < end) return { from: begin, to: end };
  throw new HoldfastError('invalid_request', 'The range ends before it begins.', {
    fields: [{ pointer: '/query/to', detail: 'expected a time after `from`' }],
  });
}

async function listErrors(
  { stepContext: { knex } }: EngineContext,
  asked: { readonly from?: Date; readonly to?: Date },
  { tenant }: Caller,
): Promise<ErrorGroups> {
  const range = rangeOf(asked);
  const rows = await errorRows(knex, { tenant, ...range });
  return {
    items: rows.map(({ code, count, first, last, run_id: runId, message, agents }) => ({
      ...{ code, count, firstAt: timeOf(first), lastAt: timeOf(last), runId },
      ...{ message: beginningOf(message, MESSAGE_CHARS), byAgent: [...agents] },
    })),
    ...{ from: range.from.toISOString(), to: range.to.toISOString() },
    atLeast: (rows[0]?.rows ?? 0) > OVERVIEW_MOST,
  };
}

async function listBudgets({ stepContext, agents }: EngineContext, caller: Caller): Promise<BudgetList> {
  const { budgets: configured, knex } = stepContext;
  const { tenant } = caller;
  const day = await databaseDay(knex);
  // What holds for the tenant and for all is said of each agent again: once is enough.
  const applied = [...agents.keys()].flatMap((agent) =>
    budgetsFor(configured, { id: '', tenant, agent, budget: undefined }),
  );
  const seen = [...new Map(applied.map((one) => [one.id, one])).values()].filter(
    ({ scope }) => scope === 'tenant' || mayOperate(caller, 'viewer'),
  );
  const idOf = ({ id, daily }: (typeof seen)[number]): string => (daily ? `${id}:${day}` : id);
  const rows = await budgetRows(knex, seen.map(idOf));
  const items = seen.flatMap((one) => {
    const { scope, name, daily, limit } = one;
    if (scope === 'run') return [];
    const { spent = 0n, raised = null } = rows.get(idOf(one)) ?? {};
    const most = raised !== null && raised > limit ? raised : limit;
    const money = { limitUsd: usdOf(most), spentUsd: usdOf(spent) };
    return [{ budget: idOf(one), scope, name, day: daily ? day : null, ...money }];
  });
  return { items };
}

async function getSeries(
  { stepContext: { knex } }: EngineContext,
  asked: { readonly metric: SeriesName; readonly step: 'hour' | 'day'; readonly from: Date; readonly to?: Date },
  { tenant }: Caller,
): Promise<StatsSeries> {
  const { metric, step } = asked;
  const { from, to } = rangeOf(asked);
  const stepMs = step === 'day' ? DAY_MS : HOUR_MS;
  const first = Math.floor(from.getTime() / stepMs) * stepMs;
  const count = Math.ceil((to.getTime() - first) / stepMs);
  if (count > SERIES_POINTS)
    throw new HoldfastError('invalid_request', `The range has ${count} points; ${SERIES_POINTS} is the most.`, {
      fields: [{ pointer: '/query/from', detail: 'ask for a shorter range, or for days' }],
    });
  const at = Array.from({ length: count }, (_, place) => first + place * stepMs);
  const { rows, read } = await seriesRows(knex, metric, { tenant, from: new Date(first), to, step });
  const isSum = !metric.endsWith('_ms');
  const lines = linesOf(rows, at, isSum);
  return {
    ...{ metric, step, at: at.map((ms) => new Date(ms).toISOString()) },
    series: lines.slice(0, SERIES_KEYS).concat(othersOf(lines.slice(SERIES_KEYS))),
    others: Math.max(0, lines.length - SERIES_KEYS),
    atLeast: read > SERIES_ROWS,
  };
}

type Line = StatsSeries['series'][number];

const sumOf = (points: readonly (number | null)[]): number => points.reduce<number>((sum, one) => sum + (one ?? 0), 0);

/** A line for each key, the largest first; of percentiles in their order. */
function linesOf(rows: readonly SeriesRow[], at: readonly number[], isSum: boolean): Line[] {
  const byKey = new Map<string, Map<number, number>>();
  for (const { key, at: begin, value } of rows) {
    const values = byKey.get(key) ?? new Map<number, number>();
    byKey.set(key, values.set(begin.getTime(), value));
  }
  const lines = [...byKey].map(([key, values]) => {
    const points = at.map((ms) => values.get(ms) ?? (isSum ? 0 : null));
    return { key, points, total: isSum ? sumOf(points) : null };
  });
  return lines.toSorted((a, b) => (b.total ?? 0) - (a.total ?? 0) || (a.key < b.key ? -1 : 1));
}

function othersOf(lines: readonly Line[]): Line[] {
  const [first] = lines;
  if (first === undefined) return [];
  const points = first.points.map((_, place) => sumOf(lines.map((line) => line.points[place] ?? 0)));
  return [{ key: 'others', points, total: sumOf(points) }];
}

/** What is at work, what fails and what is spent, in numbers. */
export const OVERVIEW_OPERATIONS = {
  /** Runs that are queued or at work; counting stops at 10,000. */
  getQueue,
  /** What runs failed with, by code. Throws `invalid_request`. */
  listErrors,
  /** The budgets of the configuration, with what is spent of each. */
  listBudgets,
  /** A count or a measure for each hour or day. Throws `invalid_request`. */
  getSeries,
};

export async function stats(context: EngineContext, tenant: string): Promise<Stats> {
  const totals = await context.totals.of(tenant);
  const summary = await context.summaries.of(tenant);
  return {
    ...totals,
    pendingInterruptions: await countPending(context.stepContext.knex, tenant),
    tasks: summary?.tasks ?? null,
    throughput: summary?.throughput ?? null,
  };
}

const viewOf = (row: KeptAccess): AccessView =>
  viewOfRow(row, { table: 'access_log', row: row.id }, ({ id, at, actor, role, method, route, target, status }) => ({
    ...{ id, at: at.toISOString(), actor, role, method, route, target, status },
  }));

async function page(
  { stepContext: { knex } }: EngineContext,
  filter: AccessFilter,
  of: PageOf,
): Promise<Page<AccessView>> {
  const found = await listAccessRows(knex, filter, of);
  return { ...legibleRows(found.rows, ({ id }) => id, viewOf), nextCursor: cursorAfter(found) };
}

export const ACCESS_OPERATIONS = {
  /** Who asked for what in the tenant, newest first. */
  listAccess: (
    context: EngineContext,
    { actor, ...of }: PageOf & { readonly actor?: string },
    { tenant }: Caller,
  ): Promise<Page<AccessView>> => page(context, { tenant, ...(actor === undefined ? {} : { actor }) }, of),
  /** Who asked for what about a run, its task and what it waited for, newest first. Throws `run_unknown`. */
  async listRunAccess(
    context: EngineContext,
    run: string,
    { actor, ...of }: PageOf & { readonly actor?: string },
    caller: Caller,
  ): Promise<Page<AccessView>> {
    await statusOf(context, run, caller);
    return page(context, { tenant: caller.tenant, run, ...(actor === undefined ? {} : { actor }) }, of);
  },
};
