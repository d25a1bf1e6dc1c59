import { HoldfastError } from '../../src/core/errors/errors.js';
import { digestOf, sha256 } from '../../src/core/json.js';
import { type CallOutcome, isLongOutcome, type KeptOutcomeRef, textOf } from '../../src/core/log/call-outcome.js';
import { findCall } from '../../src/storage/runs/calls.js';
import type { ToolResult } from '../../steps/calls/call-tool.js';
import { withDatabaseRetry } from '../../steps/database-retry.js';
import { abandonOnDatabaseOutage } from '../durable-step.js';
import type { SegmentContext } from '../segment-context.js';
import { givenTo } from './tool-body.js';

/** The result of a call as its step keeps it. A long outcome stands in the row of the call alone, which is kept no later. */
export type StepResult = ToolResult | (Omit<Settled, 'outcome'> & { readonly outcome: KeptOutcomeRef });
type Settled = Extract<ToolResult, { type: 'settled' }>;

/** `given`: what the call came to, as its row has it. `end`: what guardrails and a scaffold made of that. */
export function withoutLong(given: ToolResult, end: ToolResult): StepResult {
  if (end.type !== 'settled' || given.type !== 'settled' || end.outcome !== given.outcome) return end;
  return isLongOutcome(end.outcome) ? { ...end, outcome: { type: 'kept', digest: digestOf(end.outcome) } } : end;
}

/** The result that a step refers to. Throws `row_changed` if the row of the call has another outcome. */
export async function withLong(scope: SegmentContext, callId: string, kept: StepResult): Promise<ToolResult> {
  if (kept.type !== 'settled' || kept.outcome.type !== 'kept') return kept as ToolResult;
  return { ...kept, outcome: await outcomeIn(scope, callId, kept.outcome) };
}

async function outcomeIn(scope: SegmentContext, callId: string, { digest }: KeptOutcomeRef): Promise<CallOutcome> {
  const { ctx, run } = scope;
  let why: string;
  try {
    const row = await abandonOnDatabaseOutage(() => withDatabaseRetry(() => findCall(ctx.knex, run.id, callId)));
    if (row?.outcome && digestOf(row.outcome) === digest) return row.outcome;
    why = `Run ${run.id} cannot go on: outcome of the row ${callId} of calls is not the one that its step was kept with.`;
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== 'row_changed') {
      scope.broken ??= { error };
      throw error;
    }
    why = error.message;
  }
  // The SDK would tell the model of an error that is thrown, and ask it again.
  const changed = new HoldfastError('row_changed', why);
  scope.stop = { type: 'failed', error: changed.view() };
  throw changed;
}

/** Remembers where the log has a long result, so that the state of the run can refer to it. */
export function noteLogged(scope: SegmentContext, callId: string, key: string, outcome: CallOutcome): void {
  if (!isLongOutcome(outcome)) return;
  const text = textOf(givenTo(scope, outcome));
  scope.logged.set(callId, { key, text, digest: sha256(text) });
}
