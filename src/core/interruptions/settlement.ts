import type { JsonValue } from '../json.js';
import type { CallOutcome } from '../log/call-outcome.js';
import type { Verdict } from './interruption.js';
import type { PlacedWait, WaitSpec } from './wait.js';

/** How the wait of a call ended. `memo` is what the tool gave to `waitFor`. */
export type Settlement = (
  | { readonly type: 'answered'; readonly value: JsonValue; readonly actor: string; readonly message: string | null }
  | { readonly type: 'rejected'; readonly actor: string; readonly message: string | null }
  | { readonly type: 'expired' }
  | { readonly type: 'due' }
  | { readonly type: 'event'; readonly name: string; readonly eventId: string; readonly payload: JsonValue }
  | { readonly type: 'child_ended'; readonly runId: string; readonly result: ChildResult }
) & { readonly memo: JsonValue };

export type ChildResult =
  | { readonly status: 'completed'; readonly output: JsonValue }
  | { readonly status: 'failed'; readonly code: string; readonly message: string }
  | { readonly status: 'cancelled'; readonly reason: string | null };

/** The decision on the interruption that a wait became. */
export interface WaitDecision {
  readonly wait: PlacedWait;
  readonly verdict: Verdict;
  readonly actor: string;
  readonly message: string | null;
  readonly value: JsonValue;
}

/** A decision in the words of the wait. Values are those that our own doors wrote: `{eventId, payload}` and a ChildResult. */
export function settlementOf(decision: WaitDecision, memo: JsonValue): Settlement {
  const { verdict, actor, message, value } = decision;
  const { spec } = decision.wait;
  if (verdict === 'expire') return { type: 'expired', memo };
  // A run waits for a budget, never a call.
  if (verdict !== 'answer' || spec.kind === 'budget') return { type: 'rejected', actor, message, memo };
  switch (spec.kind) {
    case 'question':
      return { type: 'answered', value, actor, message, memo };
    case 'timer':
      return { type: 'due', memo };
    case 'event': {
      const { eventId, payload } = value as { eventId: string; payload: JsonValue };
      return { type: 'event', name: spec.name, eventId, payload, memo };
    }
    case 'child_run':
      return { type: 'child_ended', runId: spec.runId, result: value as ChildResult, memo };
  }
}

/**
 * What a settled wait makes of its call where the tool has no `resume`: an output to be checked against the tool's own schema,
 * or what the model reads in its place.
 */
export function outcomeOfSettlement(
  tool: string,
  spec: WaitSpec,
  settlement: Settlement,
): { readonly output: JsonValue } | Exclude<CallOutcome, { type: 'output' }> {
  switch (settlement.type) {
    case 'answered':
      return { output: settlement.value };
    case 'event':
      return { output: settlement.payload };
    case 'due':
      return { output: null };
    case 'rejected':
      return {
        type: 'refused',
        why: 'rejected',
        message: settlement.message ?? `${tool} got no answer: it was declined.`,
      };
    case 'expired':
      return { type: 'refused', why: 'expired', message: expiredText(tool, spec) };
    case 'child_ended':
      return outcomeOfChild(tool, settlement.runId, settlement.result);
  }
}

const expiredText = (tool: string, spec: WaitSpec): string =>
  spec.kind === 'event'
    ? `${tool} waited for the event ${spec.name}, which did not come in time.`
    : `${tool} got no answer in time.`;

function outcomeOfChild(
  tool: string,
  runId: string,
  result: ChildResult,
): { readonly output: JsonValue } | Exclude<CallOutcome, { type: 'output' }> {
  switch (result.status) {
    case 'completed':
      return { output: result.output };
    case 'failed':
      return { type: 'error', code: result.code, message: `${tool}: the run ${runId} failed: ${result.message}` };
    case 'cancelled': {
      const why = result.reason === null ? '' : `: ${result.reason}`;
      return { type: 'refused', why: 'cancelled', message: `${tool}: the run ${runId} was cancelled${why}` };
    }
  }
}
