/**
 * Runs and the runs that their calls started. Rows are locked from the top: who holds a run's row may lock those below it and
 * never waits for one above it, so that ends, cancellations and starts anywhere in a family take turns and cannot deadlock.
 * The heads of their logs are only locked under these rows.
 */
import type { Knex } from 'knex';
import type { ChildResult } from '../../src/core/interruptions/settlement.js';
import type { EventDraft } from '../../src/core/log/event.js';
import { isOver } from '../../src/core/runs/run.js';
import { msOf } from '../../src/storage/database/legible-rows.js';
import { sideBySide } from '../../src/storage/database/transactions.js';
import type { InterruptionRow } from '../../src/storage/interruptions/interruption-rows.js';
import { pendingOfEach, waitOf } from '../../src/storage/interruptions/interruptions.js';
import { appendEvents, appendToEach } from '../../src/storage/log/events.js';
import { readHead } from '../../src/storage/log/read-events.js';
import { countOnAncestors, countResult, liveChildrenOf } from '../../src/storage/runs/families.js';
import { setKeepingDeadlines } from '../../src/storage/runs/run-deadlines.js';
import { type RunRow, runViewOf } from '../../src/storage/runs/run-row.js';
import { findRun, updateRuns } from '../../src/storage/runs/runs.js';
import { isoNow, type StepContext } from '../context.js';
import { SYSTEM_ACTOR, settle, settleEach } from '../interruptions/settle.js';
import { resumeDecided } from '../interruptions/settle-and-resume.js';

/**
 * What follows from the end of a run, in the transaction that ends it and under `lockFamily`: no run below it works on, the
 * runs above it count what it used, and the call that waits for it has its result. Returns the runs that are asked to stop.
 */
export async function endFamily(ctx: StepContext, trx: Knex.Transaction, run: RunRow): Promise<readonly string[]> {
  const request = { actor: SYSTEM_ACTOR, reason: `Run ${run.id} above it is ${run.status}.` };
  const stopping = await stopChildren(ctx, trx, new Map([[run.id, request]]));
  await notifyAncestors(ctx, trx, [run]);
  return stopping;
}

async function notifyAncestors(ctx: StepContext, trx: Knex.Transaction, ended: readonly RunRow[]): Promise<void> {
  await sideBySide(ended.map((run) => countOnAncestors(trx, run)));
  await notifyParents(ctx, trx, ended);
}

export interface StopRequest {
  readonly actor: string;
  readonly reason: string | null;
  /** A run that waits is over at once, whatever its task keeps. Absent: a worker keeps that first. */
  readonly atOnce?: true;
}

/**
 * Cancels a run and all below it, in one transaction and under `lockFamily`. What waits is over at once, or when a worker has kept the
 * artifacts of its task; what works is asked to stop. Names in the result what is not over.
 */
export const stopRun = (
  ctx: StepContext,
  trx: Knex.Transaction,
  run: RunRow,
  request: StopRequest,
): Promise<readonly string[]> => stopEach(ctx, trx, [{ run, request }]);

/** For so long a worker may keep the artifacts of a run that was cancelled. A request after that ends the run without them. */
export const KEEPS_AT_LEAST_MS = 120_000;
/** After so long it ends without them by itself. */
const KEEPS_WITHIN_MS = 600_000;

/** Whether a run that is not over was not asked to stop, or waits in vain for a worker that keeps its artifacts. */
export const isToStop = ({ now }: Pick<StepContext, 'now'>, run: RunRow): boolean =>
  run.cancel_requested_at === null ||
  (run.status === 'queued' && now() - (msOf(run.cancel_requested_at) ?? 0) > KEEPS_AT_LEAST_MS);

export interface Stop {
  readonly run: RunRow;
  readonly request: StopRequest;
}

/** Runs that are stopped by the same statements: what one of them takes in memory has a bound. */
const AT_ONCE = 200;

/** Why its artifacts are not kept. */
const WAITED = 'no worker kept them after the run was cancelled while it waited';

/** Stops runs whose rows are held, then those below them: so many of one depth at once. */
export async function stopEach(
  ctx: StepContext,
  trx: Knex.Transaction,
  all: readonly Stop[],
): Promise<readonly string[]> {
  const stopping: string[] = [];
  for (let from = 0; from < all.length; from += AT_ONCE)
    stopping.push(...(await stopSome(ctx, trx, all.slice(from, from + AT_ONCE))));
  return stopping;
}

async function stopSome(ctx: StepContext, trx: Knex.Transaction, stops: readonly Stop[]): Promise<readonly string[]> {
  const isNew = ({ run }: Stop): boolean => run.cancel_requested_at === null;
  // The log has the first request.
  const all = stops.map((one) =>
    isNew(one) ? one : { ...one, request: { ...one.request, reason: one.run.cancel_reason } },
  );
  const context = { at: isoNow(ctx), worker: null };
  const asked = ({ request: { actor, reason } }: Stop): EventDraft => ({
    ...{ key: 'cancel', parentKey: 'created', kind: 'run.cancel_requested', data: { actor, reason } },
  });
  await appendToEach(
    trx,
    all.filter(isNew).map((one) => ({ runId: one.run.id, drafts: [asked(one)] })),
    context,
  );
  const working = all.filter(({ run }) => run.status === 'running');
  const asks = (reason: string | null) => ({ cancel_requested_at: new Date(ctx.now()), cancel_reason: reason });
  await updateByReason(trx, working, asks);
  const resting = all.filter(({ run }) => run.status !== 'running');
  await settleCancelled(ctx, trx, resting);
  const below = ({ run: { id }, request: { actor, reason } }: Stop): [string, StopRequest] => [
    id,
    { actor, reason: `Run ${id} above it was cancelled${reason === null ? '.' : `: ${reason}`}` },
  ];
  const stopping = await stopChildren(ctx, trx, new Map(all.map(below)));
  const ofTasks = resting.flatMap(({ run }) => (run.task_id === null ? [] : [run.id]));
  const leaving = await ctx.leftBehind(trx, ofTasks, WAITED);
  const keeping = resting.filter((one) => isNew(one) && one.request.atOnce !== true && leaving.has(one.run.id));
  await updateByReason(trx, keeping, (reason) => ({ ...asks(reason), status: 'queued' }));
  await setKeepingDeadlines(
    trx,
    keeping.map(({ run }) => run),
    KEEPS_WITHIN_MS,
  );
  await ctx.queue.enqueue(
    trx,
    keeping.flatMap(({ run }) =>
      run.status === 'paused' ? [{ run, segment: run.segment, band: 'resumed' as const }] : [],
    ),
  );
  const waiting = resting.filter((one) => !keeping.includes(one));
  const ended = ({ run: { id }, request: { reason } }: Stop): EventDraft => ({
    ...{ key: 'end', parentKey: 'cancel', kind: 'run.cancelled' },
    data: { reason, ...leaving.get(id) },
  });
  await appendToEach(
    trx,
    waiting.map((one) => ({ runId: one.run.id, drafts: [ended(one)] })),
    context,
  );
  const ends = () => ({ status: 'cancelled', completed_at: new Date(ctx.now()) }) as const;
  const over = [
    ...(await updateByReason(trx, waiting.filter(isNew), (reason) => ({ ...asks(reason), ...ends() }))),
    ...(await updateByReason(
      trx,
      waiting.filter((one) => !isNew(one)),
      ends,
    )),
  ];
  if (waiting.length > 0) {
    await ctx.queue.withdraw(
      trx,
      waiting.map(({ run }) => ({ runId: run.id, segment: run.segment })),
    );
    await notifyAncestors(ctx, trx, over);
  }
  return [...[...working, ...keeping].map(({ run }) => run.id), ...stopping];
}

/** Changes the rows of runs, those of one reason together. */
async function updateByReason(
  trx: Knex.Transaction,
  stops: readonly Stop[],
  change: (reason: string | null) => Partial<RunRow>,
): Promise<readonly RunRow[]> {
  const changed: RunRow[] = [];
  const update = async (reason: string | null): Promise<void> => {
    const ids = stops.filter(({ request }) => request.reason === reason).map(({ run }) => run.id);
    changed.push(...(await updateRuns(trx, ids, change(reason))));
  };
  await sideBySide([...new Set(stops.map(({ request }) => request.reason))].map(update));
  return changed;
}

/** Settles what runs wait for that are cancelled. */
async function settleCancelled(ctx: StepContext, trx: Knex.Transaction, stops: readonly Stop[]): Promise<void> {
  if (stops.length === 0) return;
  const requests = new Map(stops.map(({ run, request }) => [run.id, request]));
  const pending = await pendingOfEach(trx, [...requests.keys()]);
  await settleEach(
    ctx,
    trx,
    pending.flatMap((row) => {
      const request = requests.get(row.run_id);
      if (request === undefined) return [];
      const { actor, reason } = request;
      return [{ row, settling: { verdict: 'cancel', actor, message: reason, value: null } }];
    }),
  );
}

/** Stops what runs have below them that is not stopped yet, each with the request of the run above it. */
async function stopChildren(
  ctx: StepContext,
  trx: Knex.Transaction,
  requests: ReadonlyMap<string, StopRequest>,
): Promise<readonly string[]> {
  const children = await liveChildrenOf(trx, [...requests.keys()]);
  const stops = children.flatMap((run) => {
    const request = requests.get(run.parent_run_id ?? '');
    return request === undefined || run.cancel_requested_at !== null ? [] : [{ run, request }];
  });
  return stopEach(ctx, trx, stops);
}

/** Settles the calls that wait for runs which have ended. One that has not come to wait yet finds its run ended. */
async function notifyParents(ctx: StepContext, trx: Knex.Transaction, children: readonly RunRow[]): Promise<void> {
  const parentIds = new Set(children.flatMap(({ parent_run_id: id }) => (id === null ? [] : [id])));
  if (parentIds.size === 0) return;
  const named = (parentId: string | null, childId: string | null): string => `${parentId} ${childId}`;
  const pending = await pendingOfEach(trx, [...parentIds]);
  const waiting = new Map(pending.map((row) => [named(row.run_id, awaitedBy(row)), row]));
  for (const child of children) {
    const row = waiting.get(named(child.parent_run_id, child.id));
    if (row === undefined) continue;
    await settleChild(ctx, trx, row, child);
    await resumeDecided(ctx, trx, [row.run_id]);
  }
}

const awaitedBy = (row: InterruptionRow): string | null => {
  const spec = waitOf(row)?.spec;
  return spec?.kind === 'child_run' ? spec.runId : null;
};

/** Settles waits for runs that had ended before the run came to wait, in the transaction that pauses it. */
export async function settleEndedChildren(
  ctx: StepContext,
  trx: Knex.Transaction,
  pending: readonly InterruptionRow[],
): Promise<void> {
  for (const row of pending) {
    const id = awaitedBy(row);
    const child = id === null ? undefined : await findRun(trx, row.tenant, id);
    if (child !== undefined && isOver(child.status)) await settleChild(ctx, trx, row, child);
  }
}

async function settleChild(
  ctx: StepContext,
  trx: Knex.Transaction,
  row: InterruptionRow,
  child: RunRow,
): Promise<void> {
  const head = await readHead(trx, child.id);
  const { status, usage } = runViewOf(child, []);
  const data = {
    ...{ callId: row.call_id ?? '', childRunId: child.id, status: status as ChildResult['status'], usage },
    ...{ events: head?.seq ?? 0, stateHash: head?.stateHash ?? '' },
  };
  const ended = { key: `child:${child.id}`, parentKey: `interruption:${row.id}`, kind: 'child.ended', data } as const;
  await appendEvents(trx, row.run_id, [ended], { at: isoNow(ctx), worker: null });
  if (child.parent_run_id !== row.run_id) await countResult(trx, row.run_id, usage);
  await settle(ctx, trx, row, { verdict: 'answer', actor: SYSTEM_ACTOR, message: null, value: resultOf(child) });
}

function resultOf(child: RunRow): ChildResult {
  // A fork made at the same moment may come to read it later.
  if (child.erased_at !== null)
    return { status: 'failed', code: 'run_erased', message: `The content of run ${child.id} was erased.` };
  const { output, error } = runViewOf(child, []);
  if (child.status === 'completed') return { status: 'completed', output };
  if (child.status === 'cancelled') return { status: 'cancelled', reason: child.cancel_reason };
  return { status: 'failed', code: error?.code ?? 'run_failed', message: error?.message ?? '' };
}
