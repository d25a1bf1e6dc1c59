import type { Knex } from 'knex';
import { resumeIfDecided } from '../../steps/end-segment.js';
import { settle, settleDue } from '../../steps/settle.js';
import type { Caller } from '../core/caller.js';
import { judgeDecision } from '../core/decision.js';
import { HoldfastError } from '../core/errors.js';
import type { DecisionRequest, InterruptionStatus, InterruptionView } from '../core/interruption.js';
import { plainText } from '../core/json.js';
import type { Page } from '../core/page.js';
import {
  decisionsOf,
  findInterruption,
  type InterruptionRow,
  interruptionViewOf,
  listInterruptionRows,
} from '../storage/interruptions.js';
import { encodeCursor } from '../storage/run-list.js';
import { lockRun } from '../storage/runs.js';
import { assertFits } from './answer-fits.js';
import type { Parts } from './parts.js';

const unknown = (id: string): HoldfastError =>
  new HoldfastError('interruption_unknown', `There is no interruption ${JSON.stringify(id)}.`);

async function viewOf(db: Knex, row: InterruptionRow): Promise<InterruptionView> {
  return interruptionViewOf(row, await decisionsOf(db, [row.id]));
}

export async function getInterruption(parts: Parts, id: string, caller: Caller): Promise<InterruptionView> {
  const row = await findInterruption(parts.world.knex, caller.tenant, id);
  if (row === undefined) throw unknown(id);
  return viewOf(parts.world.knex, row);
}

export async function listInterruptions(
  parts: Parts,
  filter: {
    readonly status?: InterruptionStatus;
    readonly runId?: string;
    readonly limit: number;
    readonly cursor?: string;
  },
  caller: Caller,
): Promise<Page<InterruptionView>> {
  const rows = await listInterruptionRows(parts.world.knex, { ...filter, tenant: caller.tenant });
  const page = rows.slice(0, filter.limit);
  const decisions = await decisionsOf(
    parts.world.knex,
    page.map((row) => row.id),
  );
  const last = page.at(-1);
  return {
    items: page.map((row) => interruptionViewOf(row, decisions)),
    nextCursor: rows.length > filter.limit && last ? encodeCursor(last.requested_at, last.id) : null,
  };
}

export async function decide(
  parts: Parts,
  id: string,
  request: DecisionRequest,
  caller: Caller,
): Promise<InterruptionView> {
  const { knex } = parts.world;
  const seen = await findInterruption(knex, caller.tenant, id);
  if (seen === undefined) throw unknown(id);
  const message = request.message === undefined ? undefined : plainText(request.message);
  const asked = { ...request, message } as DecisionRequest;
  const view = await knex.transaction(async (trx) => {
    await lockRun(trx, seen.run_id);
    const row = await findInterruption(trx, caller.tenant, id);
    if (row === undefined) throw unknown(id);
    const before = await viewOf(trx, row);
    if (isDue(row, parts.world.now())) {
      throw new HoldfastError(
        'interruption_expired',
        `The time to decide on interruption ${id} was over at ${before.expiresAt}.`,
      );
    }
    if (judgeDecision(before, asked, caller.actor) === 'same') return before;
    const value = asked.verdict === 'answer' ? asked.value : null;
    if (asked.verdict === 'answer') assertFits(parts, row, value);
    await settle(parts.world, trx, row, {
      verdict: asked.verdict,
      actor: caller.actor,
      message: asked.message ?? null,
      value,
    });
    await resumeIfDecided(parts.world, trx, row.run_id);
    const after = await findInterruption(trx, caller.tenant, id);
    return viewOf(trx, after ?? row);
  });
  parts.world.queue.wake();
  parts.changes.announce(seen.run_id);
  return view;
}

/** Past its time nothing is executed, even when the sweep that settles it is late. */
const isDue = (row: InterruptionRow, now: number): boolean =>
  row.status === 'pending' && row.expires_at !== null && row.expires_at.getTime() <= now;

/** Settles an interruption whose time has come. Does nothing when somebody decided before. */
export async function expire(parts: Parts, runId: string, id: string): Promise<void> {
  await parts.world.knex.transaction(async (trx) => {
    const run = await lockRun(trx, runId);
    const row = run === undefined ? undefined : await findInterruption(trx, run.tenant, id);
    if (row === undefined || row.status !== 'pending') return;
    await settleDue(parts.world, trx, row);
    await resumeIfDecided(parts.world, trx, runId);
  });
  parts.world.queue.wake();
  parts.changes.announce(runId);
}
