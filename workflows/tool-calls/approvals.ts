import type { Agent, RunState } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { isSeparate } from '../../src/core/interruptions/decision.js';
import type { ApprovalTerms } from '../../src/core/runs/ending.js';
import type { ToolSpec } from '../../src/core/tools/tool.js';
import type { AuthorizedCall, RunFacts, SegmentContext } from '../segment-context.js';

/** Notes the approvals that the SDK reports, in its order, after the waits that were found inside calls. Says whether there are any. */
export function waitForApprovals(scope: SegmentContext, state: RunState<unknown, Agent>): boolean {
  const items = state.getInterruptions();
  for (const { rawItem } of items) {
    const callId = rawItem.type === 'function_call' ? rawItem.callId : undefined;
    const authorized = scope.authorizedCalls.get(callId ?? '');
    if (authorized === undefined)
      throw new HoldfastError('tool_unguarded', `The SDK waits for call ${callId ?? '?'}, which was never judged.`);
    const { agent, arguments: args, digest, reason, text, checkedEventKey: parentKey } = authorized;
    const { name: tool, approvalExpiresInMs: expiresInMs } = authorized.wrapped.spec;
    scope.waits.push({
      callId: authorized.callId,
      tool,
      agent,
      arguments: args,
      digest,
      reason,
      text,
      expiresInMs,
      approval: termsOf(scope, authorized),
      parentKey,
      inside: null,
    });
  }
  return items.length > 0;
}

/** What an approval of a call is bound to beside its digest, and how many people it takes. */
export const termsOf = ({ run }: SegmentContext, { wrapped, capabilities }: AuthorizedCall): ApprovalTerms => ({
  toolVersion: wrapped.spec.version,
  capabilities,
  required: wrapped.spec.approvals,
  separate: takesOthers(run, wrapped.spec),
});

/** Whether an approval of a tool must be of someone else than who asked for the run. */
export const takesOthers = ({ separateRequester }: RunFacts, spec: ToolSpec): boolean =>
  isSeparate([...separateRequester, spec.separateRequester], spec.approvals);
