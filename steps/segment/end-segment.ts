import type { Knex } from 'knex';
import { itemsOfInput, keptItems } from '../../src/core/agents/session.js';
import { kindFor } from '../../src/core/interruptions/interruption.js';
import { canonical, digestOf, sha256 } from '../../src/core/json.js';
import type { EventDraft } from '../../src/core/log/event.js';
import { type ApprovalTerms, type Ending, interruptionId, verdictsFor, type Wait } from '../../src/core/runs/ending.js';
import { isOver, type Usage } from '../../src/core/runs/run.js';
import { judgementOf, type TaskVerified } from '../../src/core/tasks/task-reward.js';
import { appendSessionItems, labelSession, lockSession } from '../../src/storage/agents/sessions.js';
import { assumeLost } from '../../src/storage/budgets/budgets.js';
import { costOfEach } from '../../src/storage/budgets/charges.js';
import { msOf } from '../../src/storage/database/legible-rows.js';
import { lockFamilyFor } from '../../src/storage/dbos/segment-rows.js';
import { carryInterruptions, insertInterruption, pendingOf } from '../../src/storage/interruptions/interruptions.js';
import { insertTimer } from '../../src/storage/interruptions/timers.js';
import { appendEvents, extendLog } from '../../src/storage/log/events.js';
import { labelsGiven, readHead } from '../../src/storage/log/read-events.js';
import type { LogTail } from '../../src/storage/log/write-events.js';
import { inputOf, type RunRow } from '../../src/storage/runs/run-row.js';
import { updateRun } from '../../src/storage/runs/runs.js';
import { insertSnapshot } from '../../src/storage/runs/snapshots.js';
import { insertReward } from '../../src/storage/tasks/rewards.js';
import { endFamily, settleEndedChildren } from '../agents/family.js';
import { isoNow, LostExecutionError, type StepContext } from '../context.js';
import { transact } from '../database-retry.js';
import { lockEventsOf, settleWhatIsThere } from '../interruptions/settle.js';
import { resumeDecided } from '../interruptions/settle-and-resume.js';

export interface SegmentEnd {
  readonly runId: string;
  readonly tenant: string;
  readonly segment: number;
  readonly ending: Ending;
  /** Events of the segment that are not in the log yet, in order. */
  readonly drafts: readonly EventDraft[];
  /** Where the log ends before them, if that is known. */
  readonly tail: LogTail | null;
  /** Key of the last event that the ending follows from. */
  readonly parentKey: string;
  /** Counters over all segments. */
  readonly turns: number;
  readonly usage: Usage;
  /** What the verification of its task found; null: there was none. */
  readonly verified: TaskVerified | null;
  /** Whether budgets apply to the run. */
  readonly budgeted: boolean;
}

type Change = Partial<RunRow>;

/**
 * Ends a segment in one transaction: events, counters, snapshot, interruptions, status and the next segment, all or none.
 * It compares the run's segment number under the row lock, so that executing it again after the commit changes nothing. Throws
 * `LostExecutionError`, and writes nothing, when another execution has taken the segment over.
 */
export async function endSegment(ctx: StepContext, end: SegmentEnd): Promise<{ readonly replayed: boolean }> {
  const replayed = await transact(ctx, async (trx) => {
    if (end.ending.type === 'paused') await lockEventsOf(trx, end.tenant, end.ending.waits);
    const run = await lockFamilyFor(trx, end.runId, ctx.execution());
    if (run === 'lost') throw new LostExecutionError(end.runId);
    if (run === undefined || run.segment !== end.segment || isOver(run.status)) return true;
    const ending = applyCancellation(run, end.ending);
    const step = await OUTCOMES[ending.type](ctx, trx, { ...end, ending } as never, run);
    const context = { at: isoNow(ctx), worker: ctx.worker.id };
    const drafts = [...end.drafts, ...step.events];
    const extended = end.tail === null ? null : await extendLog(trx, end.tail, drafts, context);
    if (extended === null) await appendEvents(trx, end.runId, drafts, context);
    if (end.verified !== null && step.change.status !== undefined && isOver(step.change.status))
      await rewardVerified(ctx, trx, run, end.verified);
    const began = msOf(run.segment_started_at) ?? ctx.now();
    if (end.budgeted) await assumeLost(trx, [end.runId]);
    const ended = await updateRun(trx, end.runId, {
      ...step.change,
      turns: end.turns,
      input_tokens: String(Number(run.input_tokens) + end.usage.inputTokens),
      output_tokens: String(Number(run.output_tokens) + end.usage.outputTokens),
      total_tokens: String(Number(run.total_tokens) + end.usage.totalTokens),
      cost_nano_usd: costOfEach(trx),
      active_ms: String(Number(run.active_ms) + Math.max(0, ctx.now() - began)),
      segment_started_at: null,
    });
    if (step.change.status === 'paused') {
      const pending = await pendingOf(trx, end.runId);
      await settleWhatIsThere(ctx, trx, pending);
      await settleEndedChildren(ctx, trx, pending);
      await resumeDecided(ctx, trx, [end.runId]);
    }
    if (isOver(ended.status)) await endFamily(ctx, trx, ended);
    return false;
  });
  ctx.changed(end.runId);
  ctx.queue.wake();
  return { replayed };
}

/** A run that was asked to stop does not wait or go on; one that has ended by itself has ended. */
const applyCancellation = (run: RunRow, ending: Ending): Ending => {
  if (run.cancel_requested_at === null || endedByItself(ending)) return ending;
  return { type: 'cancelled', ...(ending.type === 'failed' || ending.type === 'cancelled' ? leftIn(ending) : {}) };
};

/** No run below it is started of one that was asked to stop: failing of that is stopping. */
const endedByItself = (ending: Ending): boolean =>
  ending.type === 'failed' ? ending.error.code !== 'run_over' : ending.type === 'completed';

interface Outcome {
  readonly events: readonly EventDraft[];
  readonly change: Change;
}

type EndingWith<T extends Ending['type']> = SegmentEnd & { readonly ending: Extract<Ending, { type: T }> };

const OUTCOMES: {
  readonly [T in Ending['type']]: (
    ctx: StepContext,
    trx: Knex.Transaction,
    end: EndingWith<T>,
    run: RunRow,
  ) => Promise<Outcome>;
} = {
  completed: async (ctx, trx, end, run) => ({
    events: [
      ...(await saveSession(trx, run, end.ending, end.parentKey)),
      { key: 'end', parentKey: end.parentKey, kind: 'run.completed', data: { output: end.ending.output } },
    ],
    change: { status: 'completed', output: canonical(end.ending.output), completed_at: new Date(ctx.now()) },
  }),
  failed: async (ctx, _trx, end) => ({
    events: [
      {
        key: 'end',
        parentKey: end.parentKey,
        kind: 'run.failed',
        data: { error: { ...end.ending.error }, ...leftIn(end.ending) },
      },
    ],
    change: { status: 'failed', error: canonical(end.ending.error), completed_at: new Date(ctx.now()) },
  }),
  cancelled: async (ctx, trx, end, run) => ({
    events: [
      {
        key: 'end',
        parentKey: 'cancel',
        kind: 'run.cancelled',
        data: { reason: run.cancel_reason, ...(await leftOrNot(ctx, trx, end.ending, run)) },
      },
    ],
    change: { status: 'cancelled', completed_at: new Date(ctx.now()) },
  }),
  cut: async (ctx, trx, end, run) => {
    const next = end.segment + 1;
    await saveState(trx, end, run, next);
    await ctx.queue.enqueue(trx, [{ run, segment: next, band: 'resumed' }]);
    return {
      events: [
        {
          key: `${end.segment}:cut`,
          parentKey: end.parentKey,
          kind: 'segment.cut',
          data: { segment: end.segment, turns: end.turns, state: sha256(end.ending.state), ...contextIn(end.ending) },
        },
      ],
      change: { status: 'queued', segment: next },
    };
  },
  paused: async (ctx, trx, end, run) => {
    const next = end.segment + 1;
    await saveState(trx, end, run, next);
    await carryInterruptions(trx, end.ending.carried, next);
    const requested: EventDraft[] = [];
    for (const wait of end.ending.waits) requested.push(await ask(ctx, trx, end.runId, next, run.tenant, wait));
    const ids = end.ending.waits.map((wait) => interruptionId(end.runId, next, wait));
    return {
      events: [
        ...requested,
        {
          key: `${end.segment}:paused`,
          parentKey: requested.at(-1)?.key ?? end.parentKey,
          kind: 'run.paused',
          data: { segment: end.segment, interruptions: ids, state: sha256(end.ending.state), ...contextIn(end.ending) },
        },
      ],
      change: { status: 'paused', segment: next },
    };
  },
};

/** A run that was cancelled when it came to wait has kept nothing. */
async function leftOrNot(
  ctx: StepContext,
  trx: Knex.Transaction,
  ending: EndingWith<'cancelled'>['ending'],
  run: RunRow,
) {
  if (ending.artifacts !== undefined || run.task_id === null) return leftIn(ending);
  return (await ctx.leftBehind(trx, [run.id], 'the run was cancelled when it came to wait')).get(run.id) ?? {};
}

const leftIn = ({ artifacts }: Extract<Ending, { type: 'failed' | 'cancelled' }>) =>
  artifacts === undefined ? {} : { artifacts };

const contextIn = ({ context }: EndingWith<'paused' | 'cut'>['ending']) => (context === undefined ? {} : { context });

const saveState = (
  trx: Knex.Transaction,
  end: EndingWith<'paused' | 'cut'>,
  run: RunRow,
  segment: number,
): Promise<void> => insertSnapshot(trx, { runId: end.runId, tenant: run.tenant, segment, state: end.ending.state });

async function ask(
  ctx: StepContext,
  trx: Knex.Transaction,
  runId: string,
  segment: number,
  tenant: string,
  wait: Wait,
): Promise<EventDraft> {
  const id = interruptionId(runId, segment, wait);
  const expiresInMs = wait.expiresInMs === undefined ? ctx.approvalTimeoutMs : wait.expiresInMs;
  const { callId, tool, agent, digest, reason, text, inside, approval = PLAIN_TERMS } = wait;
  const kind = kindFor(reason);
  const dueAt = inside?.dueAt == null ? null : new Date(inside.dueAt);
  const expiresAt = dueAt ?? (expiresInMs === null ? null : new Date(ctx.now() + expiresInMs));
  const placed = inside === null ? null : { ordinal: inside.ordinal, spec: inside.spec };
  await insertInterruption(trx, {
    ...{ id, runId, tenant, agent, segment, kind, callId, tool, approval },
    ...{ arguments: wait.arguments, reason, text, verdicts: verdictsFor(reason), digest, expiresAt, wait: placed },
  });
  if (expiresAt !== null) {
    const timer = dueAt === null ? 'interruption_expires' : 'wait_due';
    await insertTimer(trx, { id, run_id: runId, tenant, kind: timer, target: id, due_at: expiresAt });
  }
  return {
    key: `interruption:${id}`,
    parentKey: wait.parentKey,
    kind: 'interruption.requested',
    data: {
      ...{ id, kind, callId, tool, reason, text, digest, expiresInMs },
      ...(placed === null ? {} : { wait: placed.spec }),
      ...(inside?.memo === undefined ? {} : { memo: inside.memo }),
      ...severalOf(approval.required),
      agent,
      ...(approval.separate ? { separateRequester: true } : {}),
    },
  };
}

const PLAIN_TERMS: ApprovalTerms = { toolVersion: '', capabilities: [], required: 1, separate: false };
const severalOf = (required: number) => (required === 1 ? {} : { requiredApprovals: required });

/**
 * Adds to a session what a completed run was asked and what it said, in the transaction that ends the run, and gives the
 * event of it. Nothing happens for a run that is in no session.
 */
export async function saveSession(
  trx: Knex.Transaction,
  run: RunRow,
  { produced, labels = [] }: Pick<Extract<Ending, { type: 'completed' }>, 'produced' | 'labels'>,
  parentKey: string,
): Promise<readonly EventDraft[]> {
  if (run.session_id === null) return [];
  const session = await lockSession(trx, run.tenant, run.session_id);
  // Only the run that holds the session writes to it: another run may have gone on with the conversation since.
  if (session === undefined || session.run_id !== run.id) return [];
  const asked = itemsOfInput(inputOf(run)).slice(run.history_items);
  const items = keptItems([...asked, ...(produced ?? [])]);
  await appendSessionItems(trx, session, items, run.id);
  await labelSession(trx, session, [...(await labelsGiven(trx, run.id)), ...labels]);
  const data = { sessionId: session.id, items: items.length, digest: digestOf(items) };
  return [{ key: 'session:saved', parentKey, kind: 'session.saved', data }];
}

/** Whose word a verification is. */
const VERIFIER = 'verifier';

/** Says what a run was worth by its verification, in the transaction that ends it and after its last event is written. */
export async function rewardVerified(
  ctx: StepContext,
  trx: Knex.Transaction,
  run: Pick<RunRow, 'id' | 'tenant'>,
  verified: TaskVerified,
): Promise<void> {
  const head = await readHead(trx, run.id);
  if (head === undefined || head.runKey === null) return;
  const { seq: headSeq, hash: headHash, runKey } = head;
  const made = { runId: run.id, tenant: run.tenant, actor: VERIFIER, at: isoNow(ctx), headSeq, headHash, runKey };
  await insertReward(trx, made, judgementOf(verified));
}
