import { type Agent, type FunctionTool, RunContext } from '@openai/agents';
import type { ToolSpec } from '../../src/core/tools/tool.js';
import { namespaceOf, toolSpecOf } from '../../src/tools/define/define-tool.js';
import { watchTool } from '../../src/tools/define/watched-tool.js';
import { mcpToolSpec } from '../../src/tools/mcp/mcp-tool.js';
import type { GuardedTool, SegmentScope } from '../segment-context.js';
import { isAgentTool } from '../tool-calls/agent-tool.js';
import { invokeGuarded } from '../tool-calls/run-calls.js';
import { mcpSourceOf, rulesOf } from '../tool-calls/mcp-call.js';
import type { OfferedTool } from './offered-tool.js';

const guardsByParameters = new WeakMap<object, GuardedTool>();
/** Tools of MCP servers are made anew whenever they are asked for: what nobody uses any more is let go. */
const guardsOfScope = new WeakMap<SegmentScope, WeakMap<FunctionTool, GuardedTool>>();

/** The guard of a tool that a model request offers; undefined: it would run unguarded. */
export const guardOf = (parameters: unknown): GuardedTool | undefined =>
  typeof parameters === 'object' && parameters !== null ? guardsByParameters.get(parameters) : undefined;

/** Puts the guard around a tool: approval and body go by the plan of the call, whoever asks. */
export function guard(scope: SegmentScope, original: FunctionTool, context: RunContext<unknown>): FunctionTool {
  const guards = guardsOfScope.get(scope) ?? new WeakMap<FunctionTool, GuardedTool>();
  guardsOfScope.set(scope, guards);
  const known = guards.get(original);
  if (known !== undefined) return known.tool;
  watchTool(original);
  // The copy of the parameters is what a model request carries back, by which the guard is found again.
  const parameters = { ...original.parameters };
  // Its bounds of time are kept inside the step: the SDK's timer would end a call while its step goes on.
  const { timeoutMs: _timeoutMs, ...rest } = original;
  const tool: FunctionTool = {
    ...rest,
    parameters,
    needsApproval: async (_context, _input, callId) => {
      const plan = scope.plans.get(callId ?? '');
      return plan === undefined || plan.decision === 'ask';
    },
    isEnabled: async () => true,
    inputGuardrails: [],
    outputGuardrails: [],
    invoke: async (_runContext, _input, details) => invokeGuarded(scope, details?.toolCall?.callId),
  };
  const guarded: GuardedTool = { tool, original, spec: specOf(scope, original), context };
  guards.set(original, guarded);
  guardsByParameters.set(parameters, guarded);
  return tool;
}

function specOf(scope: SegmentScope, tool: FunctionTool): ToolSpec {
  // An agent behind a tool does nothing to the world by itself: each of its calls is judged on its own.
  if (isAgentTool(tool)) return { ...toolSpecOf(tool), effect: 'pure' };
  const source = mcpSourceOf(tool);
  if (source === undefined) return toolSpecOf(tool);
  return mcpToolSpec(tool, source.label, source.definition, rulesOf(scope, source.label));
}

/** The guarded function tools of an agent. Only inside a segment. */
export async function guardedTools(agent: Agent): Promise<readonly OfferedTool[]> {
  const tools = await agent.getAllTools(new RunContext<unknown>());
  return tools.flatMap((tool): OfferedTool[] => {
    const guard = tool.type === 'function' ? guardOf(tool.parameters) : undefined;
    if (tool.type !== 'function' || guard === undefined) return [];
    const { name, deferLoading } = tool;
    return [{ name, namespace: namespaceOf(tool), deferred: deferLoading === true, guard }];
  });
}
