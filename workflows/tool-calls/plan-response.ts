import type { JsonObject } from '../../src/core/json.js';
import type { AuthorizedCall, SegmentContext, WrappedTool } from '../segment-context.js';
import { type AskedCall, askedCalls, authorizeCall, stopOnDenial } from './authorize-calls.js';
import { guardrailRefusal, needsApproval } from './call-callbacks.js';

/** Judges every call of a response in the model's order, before any of them starts. */
export async function authorizeCalls(
  scope: SegmentContext,
  agent: string,
  output: readonly JsonObject[],
  findWrapper: (call: AskedCall) => WrappedTool | undefined,
): Promise<void> {
  scope.batch = [];
  const authorizedCalls: AuthorizedCall[] = [];
  for (const call of askedCalls(output)) {
    const wrapped = findWrapper(call);
    // Handoffs and unknown names are the SDK's to answer; a second call of one id never runs twice.
    if (wrapped === undefined || authorizedCalls.some((authorized) => authorized.callId === call.callId)) continue;
    authorizedCalls.push(await authorizeOne(scope, agent, wrapped, call));
  }
  stopOnDenial(scope, authorizedCalls);
  for (const authorized of authorizedCalls) {
    scope.authorizedCalls.set(authorized.callId, authorized);
    if (authorized.decision !== 'ask') scope.batch.push(authorized);
  }
}

async function authorizeOne(
  scope: SegmentContext,
  agent: string,
  wrapped: WrappedTool,
  call: AskedCall,
): Promise<AuthorizedCall> {
  const authorized = asDecided(
    scope,
    authorizeCall(scope, agent, wrapped, call, await needsApproval(scope, wrapped, call)),
  );
  return authorized.decision === 'allow' && authorized.refusal === null
    ? withGuardrails(scope, authorized, call)
    : authorized;
}

/** A call that waits for a decision, with that which a recording has of it. */
function asDecided({ recorded }: SegmentContext, authorized: AuthorizedCall): AuthorizedCall {
  const decided = authorized.decision === 'ask' ? (recorded?.decided(authorized.callId) ?? null) : null;
  if (decided === null) return authorized;
  const { refused } = decided;
  const refusal = refused === null ? null : { why: refused.why, message: refused.message };
  return { ...authorized, decision: 'allow', approved: refusal === null, refusal };
}

/** A call that may run as far as grants and approvals go, after its guardrails. */
export async function withGuardrails(
  scope: SegmentContext,
  authorized: AuthorizedCall,
  call: AskedCall,
): Promise<AuthorizedCall> {
  const message = await guardrailRefusal(scope, authorized.wrapped, call);
  return message === null ? authorized : { ...authorized, refusal: { why: 'guardrail', message } };
}
