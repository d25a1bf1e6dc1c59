import { HoldfastError } from '../../src/core/errors/errors.js';
import type { ToolResult } from '../../steps/calls/call-tool.js';
import type { CallSource } from '../call-source.js';
import { callbackStep, calledIn } from '../durable-step.js';
import { type AuthorizedCall, type SegmentContext, SegmentStop, type WrappedTool } from '../segment-context.js';
import { callItem, givenBy } from './tool-body.js';

type Verdict =
  | { readonly type: 'allow' }
  | { readonly type: 'reject'; readonly message: string }
  | { readonly type: 'trip'; readonly message: string };

interface ToolGuardrail<A> {
  readonly name: string;
  readonly run: (args: A) => Promise<{ readonly behavior: { readonly type: string; readonly message?: string } }>;
}

/** Asks guardrails one after the other, as the SDK does; the first that does not allow decides. */
async function ask<A>(guardrails: readonly ToolGuardrail<A>[], args: A, what: string): Promise<Verdict> {
  for (const guardrail of guardrails) {
    try {
      const { behavior } = await guardrail.run(args);
      if (behavior.type === 'rejectContent') return { type: 'reject', message: String(behavior.message) };
      if (behavior.type === 'throwException') return { type: 'trip', message: `${guardrail.name} stopped ${what}.` };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { type: 'trip', message: `The guardrail ${guardrail.name} failed at ${what}: ${why}` };
    }
  }
  return { type: 'allow' };
}

/** What the input guardrails of a tool say of a call; null: it may run. A tripped one ends the run. */
export async function guardrailRefusal(
  scope: SegmentContext,
  wrapped: WrappedTool,
  call: AskedCall,
): Promise<string | null> {
  const guardrails = wrapped.original.inputGuardrails ?? [];
  const agent = scope.state?.currentAgent;
  if (guardrails.length === 0 || agent === undefined) return null;
  const args = { context: wrapped.context, agent, toolCall: callItem(call.callId, call.name, call.arguments) };
  const recorded = (source: CallSource): Verdict | undefined => {
    const refused = source.refusedByGuardrail(call.callId);
    if (refused === undefined) return source.trip === null ? undefined : { type: 'trip', message: source.trip };
    return refused === null ? { type: 'allow' } : { type: 'reject', message: refused };
  };
  const judge = () => ask(guardrails, args, `the call ${call.callId} of ${call.name}`);
  const said = await callbackStep(scope, `guardrail:${call.name}:${call.callId}`, judge, recorded);
  const verdict = said as Verdict;
  if (verdict.type === 'trip') {
    scope.stop = { type: 'failed', error: new HoldfastError('guardrail_tripped', verdict.message).view() };
    throw new SegmentStop(scope.stop);
  }
  return verdict.type === 'reject' ? verdict.message : null;
}

/**
 * The result of a call after the output guardrails of its tool, which are part of the step of the call: among parallel
 * calls, steps of their own would have no order that a replay can repeat.
 */
export async function afterOutputGuardrails(
  scope: SegmentContext,
  authorized: AuthorizedCall,
  result: ToolResult,
): Promise<ToolResult> {
  const { original, context } = authorized.wrapped;
  const guardrails = original.outputGuardrails ?? [];
  const agent = scope.state?.currentAgent;
  if (guardrails.length === 0 || agent === undefined) return result;
  if (result.type !== 'settled' || result.outcome.type !== 'output') return result;
  const toolCall = callItem(authorized.callId, original.name, authorized.argumentsText);
  const args = { context, agent, toolCall, output: givenBy(result.outcome) };
  const judge = () => ask(guardrails, args, `the result of ${original.name} (call ${authorized.callId})`);
  const verdict = await judged(calledIn(scope, `an output guardrail of the tool ${original.name}`, judge));
  if ('code' in verdict) return { type: 'tripped', outcome: { type: 'error', ...verdict } };
  if (verdict.type === 'allow') return result;
  const outcome = { type: 'error' as const, code: 'guardrail_rejected', message: verdict.message };
  return verdict.type === 'reject'
    ? { type: 'settled', outcome }
    : { type: 'tripped', outcome: { ...outcome, code: 'guardrail_tripped' } };
}

/** What guardrails said, or the error of a pure one, which ends the run. */
async function judged(
  judge: () => Promise<Verdict>,
): Promise<Verdict | { readonly code: 'callback_not_pure'; readonly message: string }> {
  try {
    return await judge();
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'callback_not_pure')
      return { code: error.code, message: error.message };
    throw error;
  }
}

/** A function call as a model asks for it. */
export interface AskedCall {
  readonly callId: string;
  readonly name: string;
  readonly namespace: string | null;
  readonly arguments: string;
}
