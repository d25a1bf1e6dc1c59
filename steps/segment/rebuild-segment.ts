import { isOver } from '../../src/core/runs/run.js';
import { msOf } from '../../src/storage/database/legible-rows.js';
import { cancelQueued, type OlderSegment } from '../../src/storage/dbos/segment-rows.js';
import {
  carryInterruptions,
  decisionsOfSegment,
  interruptionsOfSegment,
} from '../../src/storage/interruptions/interruptions.js';
import { appendEvents } from '../../src/storage/log/events.js';
import { lockRun, updateRun } from '../../src/storage/runs/runs.js';
import { moveSnapshot } from '../../src/storage/runs/snapshots.js';
import { isoNow, type StepContext } from '../context.js';
import { transact } from '../database-retry.js';
import { settledOf, startOf } from './begin-segment.js';

/**
 * Puts another segment in the place of one whose recorded steps cannot be replayed any more: it begins where that one began,
 * has what the log says of it, and goes on live from there. One transaction, under the lock of the run's row: the one that comes
 * second finds the workflow cancelled, and an execution of the old segment that still breathes finds that the run has left it.
 * False: there is nothing to go on with, or someone else does.
 */
export function rebuildSegment(ctx: StepContext, older: OlderSegment, to: number): Promise<boolean> {
  const { runId, segment, version: from } = older;
  return transact(ctx, async (trx) => {
    const run = await lockRun(trx, runId);
    if (!(await cancelQueued(trx, older))) return false;
    // Its end was committed, and only its workflow had not come to know.
    if (run === undefined || run.segment !== segment || isOver(run.status)) return false;
    const next = segment + 1;
    const decisions = await decisionsOfSegment(trx, runId, segment);
    const settled = settledOf(await interruptionsOfSegment(trx, runId, segment), decisions);
    // Events are written in batches: the log may not know yet that the segment has begun.
    const start = run.rebuilt_segment === segment ? [] : [startOf(segment, settled)];
    const rebuilt = {
      key: `${segment}:rebuilt`,
      parentKey: start[0]?.key ?? `${segment - 1}:rebuilt`,
      kind: 'segment.rebuilt',
      data: { segment: next, from, to },
    } as const;
    const tail = await appendEvents(trx, runId, [...start, rebuilt], { at: isoNow(ctx), worker: ctx.worker.id });
    await carryInterruptions(
      trx,
      settled.map(({ interruptionId }) => interruptionId),
      next,
    );
    await moveSnapshot(trx, runId, segment, next);
    const began = msOf(run.segment_started_at) ?? ctx.now();
    await updateRun(trx, runId, {
      ...{ status: 'queued', segment: next, rebuilt_segment: next, recorded_seq: tail?.head.seq ?? run.recorded_seq },
      active_ms: String(Number(run.active_ms) + Math.max(0, ctx.now() - began)),
      segment_started_at: null,
    });
    await ctx.queue.enqueue(trx, [{ run, segment: next, band: 'resumed' }]);
    return true;
  });
}
