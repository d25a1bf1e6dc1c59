import { HoldfastError } from '../../src/core/errors/errors.js';
import { checkCapability } from '../../src/core/grants/capability.js';
import type { ToolContext } from '../../src/core/tools/tool.js';
import { isDeclared } from '../../src/tools/define/define-tool.js';
import { invokeOf } from '../../src/tools/define/watched-tool.js';
import { notingRefusals } from '../sdk/refusal.js';
import type { AuthorizedCall, SegmentContext } from '../segment-context.js';
import { callItem } from './call-item.js';
import { raising } from './failing-call.js';
import { mcpBody, mcpSourceOf } from './mcp-call.js';
import { subAgentBody } from './sub-agent-call.js';

/** The body of a call: what a declared tool executes, or `invoke` of a tool of a plain SDK program. */
export function bodyOf(scope: SegmentContext, authorized: AuthorizedCall): (context: ToolContext) => Promise<unknown> {
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

/** What a tool asks for while it works: the same grants decide, and `ask` holds only for a call that was approved. */
export function requirementOf(scope: SegmentContext, authorized: AuthorizedCall): (capability: string) => void {
  return (capability) => {
    const check = checkCapability(scope.run.grants, capability);
    // An approval of the call is one of what it does; a standing decision reaches as far as its scope.
    const approved = authorized.standing === null ? authorized.approved : authorized.standing.covers(check.capability);
    if (check.effect === 'allow' || (check.effect === 'ask' && approved)) return;
    const why = check.effect === 'ask' ? 'it needs an approval, which this call did not get' : check.reason;
    throw new HoldfastError('capability_denied', `${authorized.wrapped.spec.name} needs ${check.capability}: ${why}.`);
  };
}
