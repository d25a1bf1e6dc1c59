import type { JsonObject } from '../../src/core/json.js';
import type { GuardedTool, PlannedCall, SegmentScope } from '../segment-context.js';
import { guardrailRefusal, needsApproval } from './call-callbacks.js';
import { type AskedCall, askedCalls, assertNotDenied, planCall } from './authorize-calls.js';

/** Judges every call of a response in the model's order, before any of them starts. */
export async function planResponse(
  scope: SegmentScope,
  agent: string,
  output: readonly JsonObject[],
  guardFor: (call: AskedCall) => GuardedTool | undefined,
): Promise<void> {
  scope.batch = [];
  const plans: PlannedCall[] = [];
  for (const call of askedCalls(output)) {
    const guard = guardFor(call);
    // Handoffs and unknown names are the SDK's to answer; a second call of one id never runs twice.
    if (guard === undefined || plans.some((plan) => plan.callId === call.callId)) continue;
    plans.push(await planOne(scope, agent, guard, call));
  }
  assertNotDenied(scope, plans);
  for (const plan of plans) {
    scope.plans.set(plan.callId, plan);
    if (plan.decision !== 'ask') scope.batch.push(plan);
  }
}

async function planOne(scope: SegmentScope, agent: string, guard: GuardedTool, call: AskedCall): Promise<PlannedCall> {
  const plan = asDecided(scope, planCall(scope, agent, guard, call, await needsApproval(scope, guard, call)));
  return plan.decision === 'allow' && plan.refusal === null ? withGuardrails(scope, plan, call) : plan;
}

/** A call that waits for a decision, with that which a recording has of it. */
function asDecided({ recorded }: SegmentScope, plan: PlannedCall): PlannedCall {
  const decided = plan.decision === 'ask' ? (recorded?.decided(plan.callId) ?? null) : null;
  if (decided === null) return plan;
  const { refused } = decided;
  const refusal = refused === null ? null : { why: refused.why, message: refused.message };
  return { ...plan, decision: 'allow', approved: refusal === null, refusal };
}

/** A call that may run as far as grants and approvals go, after its guardrails. */
export async function withGuardrails(scope: SegmentScope, plan: PlannedCall, call: AskedCall): Promise<PlannedCall> {
  const message = await guardrailRefusal(scope, plan.guard, call);
  return message === null ? plan : { ...plan, refusal: { why: 'guardrail', message } };
}
