import {
  outcomeOfSettlement,
  type Settlement,
  settlementOf,
  type WaitDecision,
} from '../../src/core/interruptions/settlement.js';
import { type CallWait, dueAtMs, type Interruption } from '../../src/core/interruptions/wait.js';
import type { CallOutcome } from '../../src/core/log/call-outcome.js';
import type { ToolSpec } from '../../src/core/tools/tool.js';
import { type CallIntent, type CallRecord, recordWait } from '../../src/storage/runs/calls.js';
import type { StepContext } from '../context.js';
import { withDatabaseRetry } from '../database-retry.js';
import { withNoted } from './call-notes.js';

/** How a call goes on after its wait: which of its waits was settled, and by what. */
export interface Continuation {
  readonly ordinal: number;
  readonly settlement: Settlement;
}

/** The settlement of what a call waits for; null: that is still open, or the decision is about an earlier wait. */
export const continuationOf = (record: CallRecord | null, decision: WaitDecision | null): Continuation | null => {
  const waiting = record?.waiting ?? null;
  if (waiting === null || decision === null || decision.wait.ordinal !== waiting.ordinal) return null;
  return { ordinal: waiting.ordinal, settlement: settlementOf(decision, waiting.memo) };
};

/** What a settled wait makes of a call whose tool does not go on by itself. `output` holds a value against the tool. */
export function settledOutcome(
  spec: ToolSpec,
  decision: WaitDecision,
  { settlement }: Continuation,
  output: (value: unknown) => CallOutcome,
): CallOutcome {
  const outcome = outcomeOfSettlement(spec.name, decision.wait.spec, settlement);
  return withNoted('type' in outcome ? outcome : output(outcome.output), settlement);
}

/** Keeps what the body of a call asked to wait for, with its time fixed, and gives what stands. */
export function saveWait(
  ctx: StepContext,
  intent: CallIntent,
  before: CallRecord | null,
  asked: Interruption,
): Promise<CallRecord | null> {
  const due = dueAtMs(asked.spec, ctx.now());
  const wait: CallWait = {
    ordinal: (before?.waits ?? 0) + 1,
    spec: asked.spec,
    dueAt: due === null ? null : new Date(due).toISOString(),
    expiresInMs: asked.expiresInMs,
    memo: asked.memo,
  };
  return withDatabaseRetry(() => recordWait(ctx.knex, intent, wait));
}
