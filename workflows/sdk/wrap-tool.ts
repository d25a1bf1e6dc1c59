import { type Agent, type FunctionTool, RunContext } from '@openai/agents';
import type { ToolSpec } from '../../src/core/tools/tool.js';
import { isDeclared, namespaceOf, toolSpecOf } from '../../src/tools/define/define-tool.js';
import { instrumentTool } from '../../src/tools/define/watched-tool.js';
import { mcpToolSpec } from '../../src/tools/mcp/mcp-tool.js';
import { currentSegment, type SegmentContext, type WrappedTool } from '../segment-context.js';
import { isAgentTool } from '../tool-calls/agent-tool.js';
import { mcpSourceOf, rulesOf } from '../tool-calls/mcp-tools.js';
import { awaitResult } from '../tool-calls/run-calls.js';
import { runContextOf } from './sdk-internals.js';

const wrappersByParameters = new WeakMap<object, WrappedTool>();
/** Tools of MCP servers are made again whenever they are asked for: what no one uses any more is let go. */
const wrappersBySegment = new WeakMap<SegmentContext, WeakMap<FunctionTool, WrappedTool>>();

/** The guard of a tool that a model request offers; undefined: it would run unguarded. */
export const wrappedToolOf = (parameters: unknown): WrappedTool | undefined =>
  typeof parameters === 'object' && parameters !== null ? wrappersByParameters.get(parameters) : undefined;

/** Puts the guard around a tool: approval and body go by the plan of the call, the one that asks. */
export function wrapTool(scope: SegmentContext, original: FunctionTool, context: RunContext<unknown>): FunctionTool {
  const wrappers = wrappersBySegment.get(scope) ?? new WeakMap<FunctionTool, WrappedTool>();
  wrappersBySegment.set(scope, wrappers);
  const known = wrappers.get(original);
  if (known !== undefined) return known.tool;
  instrumentTool(original);
  // A model request carries back the copy of the parameters, and the guard is found by it.
  const parameters = { ...original.parameters };
  // Its bounds of time are kept inside the step: the SDK's timer would end a call while its step goes on.
  const { timeoutMs: _timeoutMs, ...rest } = original;
  const tool: FunctionTool = {
    ...rest,
    parameters,
    needsApproval: async (_context, _input, callId) => {
      const authorized = scope.authorizedCalls.get(callId ?? '');
      return authorized === undefined || authorized.decision === 'ask';
    },
    isEnabled: async () => true,
    inputGuardrails: [],
    outputGuardrails: [],
    invoke: async (_runContext, _input, details) => awaitResult(scope, details?.toolCall?.callId),
  };
  const wrapper: WrappedTool = { tool, original, spec: specOf(scope, original), context };
  wrappers.set(original, wrapper);
  wrappersByParameters.set(parameters, wrapper);
  return tool;
}

function specOf(scope: SegmentContext, tool: FunctionTool): ToolSpec {
  // An agent behind a tool does nothing to the world by itself: each of its calls is judged on its own.
  if (isAgentTool(tool)) return { ...toolSpecOf(tool), effect: 'pure' };
  const source = mcpSourceOf(tool);
  if (source !== undefined) return mcpToolSpec(tool, source.label, source.definition, rulesOf(scope, source.label));
  const spec = toolSpecOf(tool);
  const { maxOutputBytes = spec.maxOutputBytes } = isDeclared(tool) ? spec : scope.run.plainTools;
  // What comes of a failure is the plan's to say.
  return { ...spec, maxOutputBytes, ...(scope.run.isProgram ? { onFailure: 'tell' } : {}) };
}

/** The guarded function tools of an agent. Only inside a segment. */
export async function wrappedTools(agent: Agent): Promise<readonly OfferedTool[]> {
  const scope = currentSegment();
  const state = typeof scope === 'object' ? scope.state : null;
  const tools = await agent.getAllTools(state === null ? new RunContext<unknown>() : runContextOf(state));
  return tools.flatMap((tool): OfferedTool[] => {
    const wrapped = tool.type === 'function' ? wrappedToolOf(tool.parameters) : undefined;
    if (tool.type !== 'function' || wrapped === undefined) return [];
    const { name, deferLoading } = tool;
    return [{ name, namespace: namespaceOf(tool), deferred: deferLoading === true, wrapped }];
  });
}

/** A function tool as a model may call it: by its name, in its namespace, at once or after it was searched for. */
export interface OfferedTool {
  readonly name: string;
  readonly namespace: string | null;
  readonly deferred: boolean;
  readonly wrapped: WrappedTool;
}

/**
 * The tool that a call means, found as the SDK finds it: some providers leave the namespace out, or write it in front of the
 * name, or say the name of a deferred tool twice. Of several the last counts, as in the SDK.
 */
export function offeredTool(
  offered: readonly OfferedTool[],
  call: { readonly name: string; readonly namespace: string | null },
): WrappedTool | undefined {
  const { name, namespace } = call;
  const alone = (deferred: boolean) =>
    offered.findLast((tool) => tool.name === name && tool.namespace === null && tool.deferred === deferred)?.wrapped;
  if (namespace === name) return alone(true);
  if (namespace !== null)
    return offered.findLast((tool) => tool.name === name && tool.namespace === namespace)?.wrapped;
  return alone(false) ?? alone(true) ?? flattened(offered, name);
}

function flattened(offered: readonly OfferedTool[], name: string): WrappedTool | undefined {
  const [only, ...others] = offered.filter(
    (tool) => tool.namespace !== null && `${tool.namespace}.${tool.name}` === name,
  );
  return others.length === 0 ? only?.wrapped : undefined;
}
