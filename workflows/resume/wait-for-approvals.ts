import type { Agent, RunState } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import type { SegmentScope } from '../segment-context.js';
import { termsOf } from './approval-of.js';

/** Notes the approvals that the SDK reports, in its order, after the waits that were found inside calls. Says whether there are any. */
export function waitForApprovals(scope: SegmentScope, state: RunState<unknown, Agent>): boolean {
  const items = state.getInterruptions();
  for (const { rawItem } of items) {
    const callId = rawItem.type === 'function_call' ? rawItem.callId : undefined;
    const plan = scope.plans.get(callId ?? '');
    if (plan === undefined)
      throw new HoldfastError('tool_unguarded', `The SDK waits for call ${callId ?? '?'}, which was never judged.`);
    const { agent, arguments: args, digest, reason, text, checkedKey: parentKey } = plan;
    const { name: tool, approvalExpiresInMs: expiresInMs } = plan.guard.spec;
    scope.waits.push({
      callId: plan.callId,
      tool,
      agent,
      arguments: args,
      digest,
      reason,
      text,
      expiresInMs,
      approval: termsOf(scope, plan),
      parentKey,
      inside: null,
    });
  }
  return items.length > 0;
}
