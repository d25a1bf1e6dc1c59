import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { LoggedEvent } from '../../core/log/check-log.js';
import type { VerifyRange, VerifyReport } from '../../core/log/verify-log.js';
import type { Page } from '../../core/page.js';
import type { RunStatus } from '../../core/runs/run.js';
import { type ClaimRow, listClaims, readClaim, readLogs } from '../../storage/evidence/log-pages.js';
import { type ClaimedRun, readClaimed } from '../../storage/integrity/copied-rows.js';
import { readFolds, soundPlace } from '../../storage/log/fold-snapshots.js';
import { BEFORE_ALL } from '../../storage/log/read-events.js';
import { encodeCursor } from '../../storage/runs/run-list.js';
import type { EngineContext } from '../engine-context.js';
import { fewAtATime, LogReading, logPages } from './log-reading.js';

/** A page of many runs ends with the run that brings it to so many events, so that no request takes forever. */
const EVENTS_PER_PAGE = 50_000;
/** Logs that are shorter are read together. */
const EVENTS_TOGETHER = 1000;

/** Verifies the log of a run, or a range of it. Memory is bounded by a few pages of events, however long the log is. */
export async function verifyRun(
  context: EngineContext,
  id: string,
  caller: Caller,
  range: VerifyRange = {},
  signal?: AbortSignal,
): Promise<VerifyReport> {
  const row = await readClaim(context.stepContext.knex, caller.tenant, id);
  if (row === undefined) throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);
  assertRange(row, range);
  return verifyLong(context, row, range, signal);
}

function assertRange({ id, seq }: ClaimRow, { from = 1, to = seq ?? 0 }: VerifyRange): void {
  const last = seq ?? 0;
  const wrong = from > to ? '/from' : to > last && last > 0 ? '/to' : null;
  if (wrong === null || last === 0) return;
  const detail = wrong === '/from' ? `at most ${to}, the end of the range` : `at most ${last}, the last event`;
  throw new HoldfastError(
    'invalid_request',
    `${wrong}: the log of run ${id} has events 1 to ${last}; expected ${detail}.`,
    {
      fields: [{ pointer: wrong, detail }],
    },
  );
}

/** Verifies all runs that fit, newest first, a page of them at a time. What is removed meanwhile is left out. */
export async function verifyRuns(
  context: EngineContext,
  filter: { readonly status?: RunStatus; readonly agent?: string; readonly limit: number; readonly cursor?: string },
  caller: Caller,
  signal?: AbortSignal,
): Promise<Page<VerifyReport>> {
  const rows = await listClaims(context.stepContext.knex, { ...filter, tenant: caller.tenant });
  const reports: VerifyReport[] = [];
  let taken = 0;
  let events = 0;
  for (const group of groupsOf(rows.slice(0, filter.limit))) {
    const verified = await verifyTogether(context, group, signal);
    reports.push(...verified);
    taken += group.length;
    for (const one of verified) events += one.events;
    if (events >= EVENTS_PER_PAGE) break;
  }
  const last = rows[taken - 1];
  const more = taken < rows.length && last !== undefined;
  return { items: reports, nextCursor: more ? encodeCursor(last.place, last.id) : null };
}

/** Neighbours whose logs are short enough to be read in one go. */
function groupsOf(rows: readonly ClaimRow[]): ClaimRow[][] {
  const groups: ClaimRow[][] = [];
  let events = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    const own = (row.seq ?? 0) + 1;
    if (events + own > EVENTS_TOGETHER) {
      groups.push([]);
      events = 0;
    }
    groups.at(-1)?.push(row);
    events += own;
  }
  return groups;
}

async function verifyTogether(
  context: EngineContext,
  rows: readonly ClaimRow[],
  signal: AbortSignal | undefined,
): Promise<VerifyReport[]> {
  const { knex } = context.stepContext;
  const claimed =
    rows.length > 1
      ? await readClaimed(
          knex,
          rows.map(({ id }) => id),
        )
      : new Map<string, ClaimedRun>();
  const limit = [...claimed.values()].reduce((sum, { claim }) => sum + (claim.seq ?? 0) + 1, 0);
  const together = claimed.size === rows.length ? await readLogs(knex, [...claimed.keys()], limit) : null;
  const reports: VerifyReport[] = [];
  // Where there is more than the heads say, or than is read at once, one log may have cut off another.
  if (together === null || together.more || together.rows.length >= limit) {
    for (const row of rows) reports.push(...(await unlessRemoved(() => verifyLong(context, row, {}, signal))));
    return reports;
  }
  const logs = new Map<string, LoggedEvent[]>(rows.map(({ id }) => [id, []]));
  for (const event of together.rows) logs.get(event.runId)?.push(event);
  for (const row of rows) {
    const { claim, copies } = claimed.get(row.id) ?? { claim: row, copies: null };
    const reading = new LogReading(claim, { copies });
    for await (const few of fewAtATime(logs.get(row.id) ?? [], signal)) if (!reading.take(few)) break;
    const report = async () => unlessErased(context, claim, {}, await reading.report(knex), signal);
    reports.push(...(await unlessRemoved(report)));
  }
  return reports;
}

async function unlessRemoved(verify: () => Promise<VerifyReport>): Promise<VerifyReport[]> {
  try {
    return [await verify()];
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'run_unknown') return [];
    throw error;
  }
}

/** A run that is erased while its log is read has payloads that are gone, and a key that was there before. */
async function unlessErased(
  context: EngineContext,
  row: ClaimRow,
  range: VerifyRange,
  said: VerifyReport,
  signal: AbortSignal | undefined,
): Promise<VerifyReport> {
  if (said.ok || row.key === null) return said;
  const now = await readClaim(context.stepContext.knex, row.tenant, row.id);
  return now === undefined || now.key !== null ? said : verifyLong(context, now, range, signal);
}

async function verifyLong(
  context: EngineContext,
  seen: ClaimRow,
  range: VerifyRange,
  signal: AbortSignal | undefined,
): Promise<VerifyReport> {
  const { knex } = context.stepContext;
  const { from = 1, to } = range;
  const whole = from === 1 && to === undefined ? (await readClaimed(knex, [seen.id])).get(seen.id) : undefined;
  const { claim: row, copies } = whole ?? { claim: seen, copies: null };
  const since = from > 1 ? await soundPlace(knex, row, from - 1) : null;
  const folds = (await readFolds(knex, row.id)).filter(
    ({ seq }) => seq > (since?.seq ?? 0) && seq <= (to ?? row.seq ?? 0),
  );
  const bounds = { ...(to !== undefined && { to }), ...(since !== null && { since }) };
  const reading = new LogReading(row, { folds, copies, ...bounds });
  for await (const page of logPages(knex, row.id, since?.seq ?? BEFORE_ALL, signal)) if (!reading.take(page)) break;
  return unlessErased(context, row, range, await reading.report(knex), signal);
}
