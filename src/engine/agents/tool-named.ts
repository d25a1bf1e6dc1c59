import type { Agent, FunctionTool } from '@openai/agents';
import type { ToolSpec } from '../../core/tools/tool.js';
import { nameOf, toolSpecOf } from '../../tools/define/define-tool.js';
import { findReachableAgent } from '../../tools/define/reachable-agents.js';
import type { EngineContext } from '../engine-context.js';

/**
 * The tool of a call as this process knows it: of the agent that asked for the call, reached from the agent of the run.
 * Undefined for what is only known while a run works, such as the tools of a server.
 */
export function toolNamed(
  context: Pick<EngineContext, 'agents'>,
  call: { readonly runAgent: string; readonly agent: string; readonly tool: string },
): FunctionTool | undefined {
  const run = context.agents.get(call.runAgent);
  const agent = (run && findReachableAgent(run.agent, call.agent)) ?? context.agents.get(call.agent)?.agent;
  const own = agent !== undefined && agent === run?.agent ? (run.scaffold?.tools ?? []) : [];
  const isIt = (tool: Agent['tools'][number]): tool is FunctionTool =>
    tool.type === 'function' && nameOf(tool) === call.tool;
  // Of two tools of one name the SDK calls the last.
  return agent?.tools.findLast(isIt) ?? own.findLast(isIt);
}

/** What that tool declares. */
export function toolSpecNamed(
  context: Pick<EngineContext, 'agents'>,
  call: Parameters<typeof toolNamed>[1],
): ToolSpec | undefined {
  const tool = toolNamed(context, call);
  return tool === undefined ? undefined : toolSpecOf(tool);
}
