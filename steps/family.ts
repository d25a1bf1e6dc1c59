/**
 * Runs and the runs that their calls started. Rows are locked from the top: who holds a run's row may lock those below it and
 * never waits for one above it, so that ends, cancellations and starts anywhere in a family take turns and cannot deadlock.
 * The heads of their logs are only locked under these rows.
 */
import type { Knex } from 'knex';
import { isOver } from '../src/core/run.js';
import type { ChildResult } from '../src/core/settlement.js';
import { appendEvents } from '../src/storage/events.js';
import { countOnAncestors, countResult, liveChildrenOf } from '../src/storage/families.js';
import type { InterruptionRow } from '../src/storage/interruption-rows.js';
import { pendingOf, waitOf } from '../src/storage/interruptions.js';
import { readHead } from '../src/storage/read-events.js';
import { findRun, type RunRow, runViewOf, updateRun } from '../src/storage/runs.js';
import { resumeIfDecided } from './resume-run.js';
import { NOBODY, settle } from './settle.js';
import { isoNow, type World } from './world.js';

/**
 * What follows from the end of a run, in the transaction that ends it and under `lockFamily`: no run below it works on, the
 * runs above it count what it used, and the call that waits for it has its result. Returns the runs that are asked to stop.
 */
export async function endFamily(world: World, trx: Knex.Transaction, run: RunRow): Promise<readonly string[]> {
  const stopping = await stopChildren(world, trx, run, {
    actor: NOBODY,
    reason: `Run ${run.id} above it is ${run.status}.`,
  });
  await countOnAncestors(trx, run);
  await tellParent(world, trx, run);
  return stopping;
}

export interface StopRequest {
  readonly actor: string;
  readonly reason: string | null;
}

/**
 * Cancels a run and all below it, in one transaction and under `lockFamily`. What waits is over at once; what works is asked
 * to stop, and named in the result.
 */
export async function stopRun(
  world: World,
  trx: Knex.Transaction,
  run: RunRow,
  request: StopRequest,
): Promise<readonly string[]> {
  const { id } = run;
  const { actor, reason } = request;
  const context = { at: isoNow(world), worker: null };
  const asked = { key: 'cancel', parentKey: 'created', kind: 'run.cancel_requested', data: { actor, reason } } as const;
  await appendEvents(trx, id, [asked], context);
  const change = { cancel_requested_at: new Date(world.now()), cancel_reason: reason };
  const below = { actor, reason: `Run ${id} above it was cancelled${reason === null ? '.' : `: ${reason}`}` };
  if (run.status === 'running') {
    await updateRun(trx, id, change);
    return [id, ...(await stopChildren(world, trx, run, below))];
  }
  for (const row of await pendingOf(trx, id)) {
    await settle(world, trx, row, { verdict: 'cancel', actor, message: reason, value: null });
  }
  const stopping = await stopChildren(world, trx, run, below);
  await appendEvents(trx, id, [{ key: 'end', parentKey: 'cancel', kind: 'run.cancelled', data: { reason } }], context);
  const over = await updateRun(trx, id, { ...change, status: 'cancelled', completed_at: new Date(world.now()) });
  await world.queue.withdraw(trx, { runId: id, segment: run.segment });
  return [...stopping, ...(await endFamily(world, trx, over))];
}

async function stopChildren(
  world: World,
  trx: Knex.Transaction,
  parent: RunRow,
  request: StopRequest,
): Promise<readonly string[]> {
  const stopping: string[] = [];
  for (const child of await liveChildrenOf(trx, parent.id)) {
    if (child.cancel_requested_at === null) stopping.push(...(await stopRun(world, trx, child, request)));
  }
  return stopping;
}

/** Settles the call that waits for a run which has ended. One that has not come to wait yet finds it ended. */
async function tellParent(world: World, trx: Knex.Transaction, child: RunRow): Promise<void> {
  if (child.parent_run_id === null) return;
  const waiting = (await pendingOf(trx, child.parent_run_id)).find((row) => awaitedBy(row) === child.id);
  if (waiting === undefined) return;
  await settleChild(world, trx, waiting, child);
  await resumeIfDecided(world, trx, child.parent_run_id);
}

const awaitedBy = (row: InterruptionRow): string | null => {
  const spec = waitOf(row)?.spec;
  return spec?.kind === 'child_run' ? spec.runId : null;
};

/** Settles waits for runs that had ended before the run came to wait, in the transaction that pauses it. */
export async function settleEndedChildren(
  world: World,
  trx: Knex.Transaction,
  pending: readonly InterruptionRow[],
): Promise<void> {
  for (const row of pending) {
    const id = awaitedBy(row);
    const child = id === null ? undefined : await findRun(trx, row.tenant, id);
    if (child !== undefined && isOver(child.status)) await settleChild(world, trx, row, child);
  }
}

async function settleChild(world: World, trx: Knex.Transaction, row: InterruptionRow, child: RunRow): Promise<void> {
  const head = await readHead(trx, child.id);
  const { status, usage } = runViewOf(child, []);
  const data = {
    ...{ callId: row.call_id ?? '', childRunId: child.id, status: status as ChildResult['status'], usage },
    ...{ events: head?.seq ?? 0, stateHash: head?.stateHash ?? '' },
  };
  const ended = { key: `child:${child.id}`, parentKey: `interruption:${row.id}`, kind: 'child.ended', data } as const;
  await appendEvents(trx, row.run_id, [ended], { at: isoNow(world), worker: null });
  if (child.parent_run_id !== row.run_id) await countResult(trx, row.run_id, usage);
  await settle(world, trx, row, { verdict: 'answer', actor: NOBODY, message: null, value: resultOf(child) });
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
