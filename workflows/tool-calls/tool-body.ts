import { startedChild } from '../../src/core/agents/sub-agent.js';
import { isEnvironmentTrouble } from '../../src/core/errors/environment-errors.js';
import { type ErrorView, HoldfastError, isErrorCode } from '../../src/core/errors/errors.js';
import { checkCapability } from '../../src/core/grants/capability.js';
import { type CallWait, waitForChild } from '../../src/core/interruptions/wait.js';
import { toJson } from '../../src/core/json.js';
import type { CallOutcome } from '../../src/core/log/call-outcome.js';
import { toldBody } from '../../src/core/ops/body-moments.js';
import { textOfOutcome } from '../../src/core/plans/node-result.js';
import type { ToolContext } from '../../src/core/tools/tool.js';
import { isDeclared } from '../../src/tools/define/define-tool.js';
import { subAgentOf } from '../../src/tools/define/sub-agent.js';
import { invokeOf } from '../../src/tools/define/watched-tool.js';
import { startChild } from '../../steps/agents/start-child.js';
import type { ToolResult } from '../../steps/calls/call-tool.js';
import { notingRefusals } from '../sdk/unsupported.js';
import { type AgentToolResult, type AuthorizedCall, labelsPassedOn, type SegmentContext } from '../segment-context.js';
import { mcpBody, mcpSourceOf } from './mcp-tools.js';

/** The body of a call: what a declared tool executes, or `invoke` of a tool of a plain SDK program. */
export function bodyOf(scope: SegmentContext, authorized: AuthorizedCall): (context: ToolContext) => Promise<unknown> {
  const { name: tool, effect } = authorized.wrapped.spec;
  return toldBody({ runId: scope.run.id, callId: authorized.callId, tool, effect }, plainBodyOf(scope, authorized));
}

function plainBodyOf(scope: SegmentContext, authorized: AuthorizedCall): (context: ToolContext) => Promise<unknown> {
  const child = subAgentBody(scope, authorized);
  if (child !== undefined) return child;
  const { original, spec, context: runContext } = authorized.wrapped;
  if (isDeclared(original)) return (context) => notingRefusals(() => spec.execute(authorized.input, context));
  const toolCall = callItem(authorized.callId, original.name, authorized.argumentsText);
  const invoke = (context: ToolContext): Promise<unknown> =>
    notingRefusals(() =>
      raising(async () =>
        invokeOf(original)(runContext, authorized.argumentsText, { toolCall, signal: context.signal }),
      ),
    );
  const source = mcpSourceOf(original);
  return source === undefined ? invoke : mcpBody(authorized, source, invoke);
}

/**
 * What a tool asks for while it works: the same grants decide, and `ask` holds only for a call that was approved. What calls beside it
 * bring in does not count.
 */
export function requirementOf(scope: SegmentContext, authorized: AuthorizedCall): (capability: string) => void {
  const { grants } = scope.run;
  const labels = authorized.wrapped.spec.effect === 'unsafe' ? scope.memory.labels : [];
  /** A standing decision reaches as far as its scope, and not to what only untrusted input makes a question. */
  const stands = (capability: string): boolean =>
    authorized.standing?.covers(capability) === true && checkCapability(grants, capability).effect === 'ask';
  return (capability) => {
    const check = checkCapability(grants, capability, labels);
    // An approval of the call is one of what it does.
    const approved = authorized.standing === null ? authorized.approved : stands(check.capability);
    if (check.effect === 'allow' || (check.effect === 'ask' && approved)) return;
    const why = check.effect === 'ask' ? 'it needs an approval, which this call did not get' : check.reason;
    throw new HoldfastError('capability_denied', `${authorized.wrapped.spec.name} needs ${check.capability}: ${why}.`);
  };
}

/** The body of a sub-agent's call: starts the child, once, and waits for it. Undefined: the tool is no sub-agent. */
export function subAgentBody(scope: SegmentContext, authorized: AuthorizedCall): (() => Promise<unknown>) | undefined {
  const spec = subAgentOf(authorized.wrapped.original);
  if (spec === undefined) return undefined;
  const { id, grants, limits, undoes } = scope.run;
  const parent = { id, grants, limits, undoes, turns: scope.turns, totalTokens: scope.totalTokens };
  return async () => {
    const agent = scope.agents.get(spec.agent);
    if (agent === undefined) {
      throw new HoldfastError('agent_unknown', `The agent ${spec.agent} is not in the configuration of this worker.`);
    }
    // The child names the event of its parent that it follows from.
    await scope.log.flush();
    const { callId, checkedEventKey: causeKey, input } = authorized;
    // A decision that stands is of no plan.
    const isApproved = authorized.approved && authorized.standing === null;
    const started = await startChild(scope.ctx, {
      ...{ parent, callId, causeKey, spec, agent, input, isApproved },
      labels: labelsPassedOn(scope),
    });
    return waitForChild(started.childRunId, toJson(started));
  };
}

/** Logs which run a call waits for, as it was recorded when the run was started. Returns what the wait follows from. */
export function logChild(
  scope: SegmentContext,
  authorized: AuthorizedCall,
  wait: CallWait,
  startedKey: string,
): string {
  if (subAgentOf(authorized.wrapped.original) === undefined) return startedKey;
  const started = startedChild.parse(wait.memo);
  return scope.log.add('child.started', { callId: authorized.callId, ...started }, startedKey);
}

/** The error that a call ends its run with, by the word of a guardrail or of its tool, or for want of its container; null: it ends no run. */
export function endOfRun(
  scope: SegmentContext,
  authorized: AuthorizedCall,
  result: ToolResult | AgentToolResult,
): ErrorView | null {
  if (result.type === 'tripped') {
    const { code, message } = result.outcome;
    return new HoldfastError(code === 'callback_not_pure' ? code : 'guardrail_tripped', message).view();
  }
  if (result.type !== 'settled' || result.outcome.type !== 'error') return null;
  const { code, message } = result.outcome;
  const ends =
    authorized.wrapped.spec.onFailure === 'fail' ||
    isEnvironmentTrouble(code) ||
    code === 'row_changed' ||
    (isRaised(result) && scope.parentCall === null);
  return ends ? new HoldfastError(isErrorCode(code) ? code : 'tool_failed', message).view() : null;
}

/**
 * Whether a tool of a plain SDK program threw. That ends the loop of the agent that called it, as in the SDK: of the run, or of an
 * agent behind a tool, whose caller then reads so.
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

/** Returns what the SDK makes the result of a call from, as the tool gave it: members of an object in their order. */
export function givenBy(outcome: CallOutcome): unknown {
  if (outcome.type !== 'output') return outcome.message;
  const { output, text } = outcome;
  if (text === undefined || typeof output !== 'object' || output === null) return text ?? output;
  return JSON.parse(text);
}

/** What a model gets of an outcome, or the program in its place. */
export const givenTo = ({ run }: Pick<SegmentContext, 'run'>, outcome: CallOutcome): unknown =>
  run.isProgram ? textOfOutcome(outcome) : givenBy(outcome);

/** A call as an item of the SDK, which callbacks and bodies of its tools get. */
export const callItem = (callId: string, name: string, text: string) => ({
  ...{ type: 'function_call' as const, callId, name },
  ...{ arguments: text, status: 'completed' as const },
});
