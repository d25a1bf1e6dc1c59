import { HoldfastError } from '../../src/core/errors/errors.js';
import { checkCapability } from '../../src/core/grants/capability.js';
import type { ToolContext } from '../../src/core/tools/tool.js';
import { isDeclared } from '../../src/tools/define/define-tool.js';
import { invokeOf } from '../../src/tools/define/watched-tool.js';
import { notingRefusals } from '../sdk/refusal.js';
import type { PlannedCall, SegmentScope } from '../segment-context.js';
import { callItem } from './call-item.js';
import { raising } from './failing-call.js';
import { mcpBody, mcpSourceOf } from './mcp-call.js';
import { subAgentBody } from './sub-agent-call.js';

/** The body of a call: what a declared tool executes, or `invoke` of a tool of a plain SDK program. */
export function bodyOf(scope: SegmentScope, plan: PlannedCall): (context: ToolContext) => Promise<unknown> {
  const child = subAgentBody(scope, plan);
  if (child !== undefined) return child;
  const { original, spec, context: runContext } = plan.guard;
  if (isDeclared(original)) return (context) => notingRefusals(() => spec.execute(plan.input, context));
  const toolCall = callItem(plan.callId, original.name, plan.argumentsText);
  const invoke = (context: ToolContext): Promise<unknown> =>
    notingRefusals(() =>
      raising(async () => invokeOf(original)(runContext, plan.argumentsText, { toolCall, signal: context.signal })),
    );
  const source = mcpSourceOf(original);
  return source === undefined ? invoke : mcpBody(plan, source, invoke);
}

/** What a tool asks for while it works: the same grants decide, and `ask` holds only for a call that was approved. */
export function requirementOf(scope: SegmentScope, plan: PlannedCall): (capability: string) => void {
  return (capability) => {
    const check = checkCapability(scope.run.grants, capability);
    // An approval of the call is one of what it does; a standing decision reaches as far as its scope.
    const approved = plan.standing === null ? plan.approved : plan.standing.covers(check.capability);
    if (check.effect === 'allow' || (check.effect === 'ask' && approved)) return;
    const why = check.effect === 'ask' ? 'it needs an approval, which this call did not get' : check.reason;
    throw new HoldfastError('capability_denied', `${plan.guard.spec.name} needs ${check.capability}: ${why}.`);
  };
}
