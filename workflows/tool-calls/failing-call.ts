import { isEnvironmentTrouble } from '../../src/core/errors/environment-errors.js';
import { type ErrorView, HoldfastError, isErrorCode } from '../../src/core/errors/errors.js';
import type { CallOutcome } from '../../src/core/log/event.js';
import type { ToolResult } from '../../steps/calls/call-tool.js';
import type { AuthorizedCall, SegmentContext } from '../segment-context.js';
import type { AgentToolResult } from './agent-tool.js';

/** The error that a call ends its run with, by the word of a guardrail or of its tool, or for want of its container; null: it ends no run. */
export function endOfRun(
  scope: SegmentContext,
  authorized: AuthorizedCall,
  result: ToolResult | AgentToolResult,
): ErrorView | null {
  if (result.type === 'tripped') return new HoldfastError('guardrail_tripped', result.outcome.message).view();
  if (result.type !== 'settled' || result.outcome.type !== 'error') return null;
  const { code, message } = result.outcome;
  const ends =
    authorized.wrapped.spec.onFailure === 'fail' ||
    isEnvironmentTrouble(code) ||
    (isRaised(result) && scope.parentCall === null);
  return ends ? new HoldfastError(isErrorCode(code) ? code : 'tool_failed', message).view() : null;
}

/**
 * Whether a tool of a plain SDK program threw. That ends the loop of the agent that called it, as in the SDK: of the run, or of an
 * agent behind a tool, of which the caller then reads so.
 */
export const isRaised = (result: ToolResult | AgentToolResult): result is Raised =>
  result.type === 'settled' && result.outcome.type === 'error' && result.outcome.code === 'tool_raised';

type Raised = Extract<ToolResult, { type: 'settled' }> & { readonly outcome: Extract<CallOutcome, { type: 'error' }> };

/** What a tool of a plain SDK program throws, which the SDK does only where no `errorFunction` makes a text of it. */
export async function raising<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof HoldfastError) throw error;
    throw new HoldfastError('tool_raised', error instanceof Error ? error.message : String(error), { cause: error });
  }
}
