import type { ModelRequest } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { checksOf, strictest } from '../../src/core/grants/capability.js';
import { type Standing, standingFor } from '../../src/core/interruptions/standing.js';
import {
  isObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  plainText,
  toJson,
  tooLargeIn,
} from '../../src/core/json.js';
import type { CapabilityCheck, EventData } from '../../src/core/log/event.js';
import type { CallOfPlan } from '../../src/core/plans/approved-plan.js';
import { approvalText, callDigest } from '../../src/core/runs/call.js';
import type { ToolSpec } from '../../src/core/tools/tool.js';
import { isDeclared } from '../../src/tools/define/define-tool.js';
import type { CallSource } from '../call-source.js';
import { callbackStep } from '../durable-step.js';
import { type OfferedTool, offeredTool, wrappedToolOf } from '../sdk/wrap-tool.js';
import { type AuthorizedCall, type SegmentContext, SegmentStop, type WrappedTool } from '../segment-context.js';
import { takesOthers } from './approvals.js';
import type { AskedCall } from './tool-guardrails.js';
import { guardrailRefusal } from './tool-guardrails.js';

export const askedCalls = (output: readonly JsonObject[]): AskedCall[] =>
  output.flatMap((item) => {
    const { type, callId, name, namespace } = item;
    if (type !== 'function_call' || typeof callId !== 'string' || typeof name !== 'string') return [];
    const text = item['arguments'];
    return [
      {
        callId,
        name,
        namespace: typeof namespace === 'string' ? namespace : null,
        arguments: typeof text === 'string' ? text : '',
      },
    ];
  });

/** The guard of each tool that a request offers. Throws `tool_unguarded` when one has none and would run here. */
export function wrapperFinder(request: ModelRequest): (call: AskedCall) => WrappedTool | undefined {
  const offered = request.tools.flatMap((tool): OfferedTool[] => {
    if (tool.type === 'hosted_tool') return [];
    const wrapped = tool.type === 'function' ? wrappedToolOf(tool.parameters) : undefined;
    if (tool.type !== 'function' || wrapped === undefined)
      throw new HoldfastError('tool_unguarded', `The tool ${tool.name} was offered to a model without its guard.`);
    const { name, namespace = null, deferLoading } = tool;
    return [{ name, namespace, deferred: deferLoading === true, wrapped }];
  });
  return (call) => offeredTool(offered, call);
}

function parseArguments(spec: ToolSpec, text: string): { args: JsonValue; input: unknown; problem: string | null } {
  let args: JsonValue;
  try {
    args = toJson(parseJson(text === '' ? '{}' : text));
  } catch (error) {
    const problem = `The arguments of ${spec.name} are not valid JSON${tooLargeIn(error)}. Send one JSON object.`;
    return { args: text, input: null, problem };
  }
  const parsed = spec.parse(args);
  // A tool that declares nothing would be called with something else than what was judged.
  if (parsed.ok && !isObject(args))
    return { args, input: null, problem: `The arguments of ${spec.name} are no JSON object. Send one JSON object.` };
  return parsed.ok ? { args, input: parsed.input, problem: null } : { args, input: null, problem: parsed.problem };
}

/**
 * Judges one call before anything of its response starts: arguments, capabilities, approval. `needsApproval` is what the
 * tool of a plain SDK program says. `standing` are the decisions that spare a call an approval of its own: none where it
 * has one. Writes the verdict to the log.
 */
export function authorizeCall(
  scope: SegmentContext,
  agent: string,
  wrapped: WrappedTool,
  call: AskedCall,
  needsApproval: boolean,
  standing: readonly Standing[] = scope.standing,
): AuthorizedCall {
  const { spec } = wrapped;
  const { args, input, problem } = parseArguments(spec, call.arguments);
  const checks = problem === null ? checksOf(scope.run.grants, spec, input, scope.memory.labels) : [];
  const granted = strictest(checks);
  const rule = problem === null && granted !== 'deny' ? ruleOf(spec, input, needsApproval) : null;
  const judged = problem !== null ? 'invalid' : granted === 'allow' && rule !== null ? 'ask' : granted;
  const capabilities = checks.map((check) => check.capability);
  const needs = { agent, tool: spec.name, version: spec.version, needs: capabilities };
  // What was approved for all such calls was so before anyone knew what this run would read.
  const byTrust = granted === 'ask' && asksByTrust(checks, checksOf(scope.run.grants, spec, input));
  const held = judged === 'ask' && !byTrust ? standingFor(scope.source.standing(call.callId) ?? standing, needs) : null;
  const plan =
    judged === 'ask' && held === null
      ? planFor(scope, spec, { callId: call.callId, tool: spec.name, arguments: args, rebuilt: scope.run.rebuilt })
      : null;
  const already = approvedBefore(held, plan);
  const decision = already === null ? judged : 'allow';
  const why = problem ?? rule ?? checks.find((check) => check.effect === granted)?.reason ?? 'granted';
  const text = plainText(already ?? why);
  const digest = callDigest({
    ...{ runId: scope.run.id, callId: call.callId, tool: spec.name, toolVersion: spec.version },
    ...{ arguments: args, policyVersion: scope.run.grants.policyVersion },
  });
  const checkedEventKey = scope.log.add('call.checked', {
    ...{ callId: call.callId, tool: spec.name, toolVersion: spec.version, effect: spec.effect },
    ...{ arguments: args, digest, decision, checks, reason: text },
    ...(held === null ? {} : { standingDecision: held.rule.id }),
    ...(plan === null ? {} : { approvedPlan: plan }),
  });
  return {
    ...{ callId: call.callId, agent, wrapped, arguments: args, argumentsText: call.arguments, input },
    ...{ digest, decision, text, reason: rule === null ? 'grant_ask' : 'tool_rule', checkedEventKey },
    refusal: refusalOf(decision, text),
    ...{ capabilities, known: null, approved: already !== null, standing: held },
    ...{ repeatApprovedBy: null, allowedElsewhere: null, waitDecision: null, agentState: null },
  };
}

/** Whether one of the checks asks only for what the run has read from outside. */
const asksByTrust = (checks: readonly CapabilityCheck[], trusting: readonly CapabilityCheck[]): boolean =>
  checks.some(({ effect }, index) => effect === 'ask' && trusting[index]?.effect === 'allow');

/** Why a call that is to be asked for need not be; null: it is asked for. */
function approvedBefore(held: Standing | null, plan: PlanOfCheck | null): string | null {
  if (held !== null) return `${held.rule.actor} approved every such call (${held.rule.id}).`;
  return plan === null ? null : `It was approved with the plan ${plan.digest}.`;
}

/**
 * The approved plan that covers a call; null: there is none, or the tool asks for more people than have approved the plan, or for
 * others than the requester. What was judged before stays as it was.
 */
function planFor({ source, run, approvedPlan }: SegmentContext, spec: ToolSpec, call: CallOfPlan): PlanOfCheck | null {
  const recorded = source.checked(call.callId);
  if (recorded !== undefined) return recorded.approvedPlan ?? null;
  if (approvedPlan === null || spec.approvals > approvedPlan.by.length || takesOthers(run, spec)) return null;
  if (run.proposals?.approves(run.input, call) !== true) return null;
  return { digest: approvedPlan.digest, by: approvedPlan.by };
}

type PlanOfCheck = NonNullable<EventData<'call.checked'>['approvedPlan']>;

const refusalOf = (decision: AuthorizedCall['decision'], text: string): AuthorizedCall['refusal'] => {
  if (decision === 'invalid') return { why: 'invalid_arguments', message: text };
  return decision === 'deny' ? { why: 'denied', message: `Not allowed: ${text}` } : null;
};

function ruleOf(spec: ToolSpec, input: unknown, needsApproval: boolean): string | null {
  try {
    return spec.approvalOf(input) ?? (needsApproval ? approvalText(spec.name) : null);
  } catch (error) {
    return `${spec.name} could not say whether it needs an approval: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Throws when a denial stops the run, so that no call of the response starts. */
export function stopOnDenial(scope: SegmentContext, authorizedCalls: readonly AuthorizedCall[]): void {
  const denied = authorizedCalls.find((authorized) => authorized.decision === 'deny');
  if (denied === undefined || scope.run.onDenied === 'tell') return;
  const error = new HoldfastError(
    'capability_denied',
    `${denied.wrapped.spec.name} (call ${denied.callId}) was not granted: ${denied.text}`,
  );
  scope.stop = { type: 'failed', error: error.view() };
  throw new SegmentStop(scope.stop);
}

/** Judges every call of a response in the model's order, before any of them starts. */
export async function authorizeCalls(
  scope: SegmentContext,
  agent: string,
  output: readonly JsonObject[],
  findWrapper: (call: AskedCall) => WrappedTool | undefined,
): Promise<void> {
  scope.batch = [];
  labelHosted(scope, output);
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

/** What a provider's own tools have found, such as its search, came in with the answer. */
function labelHosted({ memory }: SegmentContext, output: readonly JsonObject[]): void {
  if (output.some(({ type }) => type === 'hosted_tool_call')) memory.add({ labels: ['untrusted:web'] });
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
function asDecided({ source }: SegmentContext, authorized: AuthorizedCall): AuthorizedCall {
  const decided = authorized.decision === 'ask' ? source.decided(authorized.callId) : null;
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

/** Callbacks of the user that steer one call. */

/** As the SDK parses them for a tool; its types say `string` where the tool declares no schema. */
const argumentsOf = (text: string): never => {
  try {
    return JSON.parse(text === '' ? '{}' : text) as never;
  } catch {
    return {} as never;
  }
};

/** What the tool of a plain SDK program says of an approval. A callback that throws asks a person. */
export async function needsApproval(scope: SegmentContext, wrapped: WrappedTool, call: AskedCall): Promise<boolean> {
  const { original, context } = wrapped;
  if (isDeclared(original)) return false;
  try {
    const ask = () => original.needsApproval(context, argumentsOf(call.arguments), call.callId);
    const recorded = (source: CallSource): boolean | undefined => {
      const checked = source.checked(call.callId);
      return checked === undefined ? undefined : checked.reason === approvalText(checked.tool);
    };
    return (await callbackStep(scope, `approval:${original.name}:${call.callId}`, ask, recorded)) !== false;
  } catch (error) {
    if (scope.broken !== null) throw error;
    return true;
  }
}
