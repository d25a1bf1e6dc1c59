import { Agent, getHandoff, type Handoff, type RunContext, type Tool } from '@openai/agents';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { nameOf } from '../../src/tools/define/define-tool.js';
import { setInstrumentation } from '../../src/tools/define/watched-tool.js';
import { callbackStep } from '../callback-step.js';
import type { RecordedSource } from '../replay/recorded-source.js';
import { currentSegment, type SegmentContext } from '../segment-context.js';
import { refuse } from './refusal.js';
import { unguarded, unsupportedAgent, unsupportedAgentInStep, unsupportedTool } from './unsupported.js';
import { instrumentAgent } from './watched-agent.js';
import { wrapTool } from './wrap-tool.js';

let installed = false;

/**
 * The doors through which the SDK gets the tools, handoffs and instructions of an agent, so that handed-off agents are
 * covered too. Active only inside a segment: elsewhere the same agents work plainly.
 */
export function patchAgent(): void {
  if (installed) return;
  const { getAllTools, getEnabledHandoffs, getSystemPrompt, getPrompt } = Agent.prototype;
  for (const [name, method] of Object.entries({
    getAllTools,
    getEnabledHandoffs,
    getSystemPrompt,
    getPrompt,
  })) {
    if (typeof method !== 'function')
      throw new HoldfastError(
        'library_changed',
        `Agent.prototype.${name} of @openai/agents is not a function any more.`,
      );
  }
  Agent.prototype.getAllTools = async function toolsThroughDoor(this: Agent, ...args: Parameters<typeof getAllTools>) {
    const scope = currentSegment();
    if (scope === undefined) return getAllTools.apply(this, args);
    if (scope === 'step') {
      const tools = await getAllTools.apply(this, args);
      const unsupported = unsupportedAgentInStep(this, tools);
      return unsupported === null ? tools : refuse(unsupported);
    }
    instrumentAgent(this);
    const mcp: Tool[] = await this.getMcpTools(...args);
    const tools = [...mcp, ...(await enabledTools(scope, this, args[0]))];
    const unsupported = tools.map(unsupportedTool).find((problem) => problem !== null);
    if (unsupported !== undefined) return refuse(unsupported);
    return tools.map((tool) => (tool.type === 'function' ? wrapTool(scope, tool, args[0]) : tool));
  };
  Agent.prototype.getEnabledHandoffs = async function handoffsThroughDoor(this: Agent, context: RunContext) {
    const scope = currentSegment();
    if (scope === undefined) return getEnabledHandoffs.call(this, context);
    const enabled =
      scope === 'step' ? await getEnabledHandoffs.call(this, context) : await enabledHandoffs(scope, this, context);
    const unsupported = enabled.map(({ agent }) => unsupportedAgent(agent)).find((problem) => problem !== null);
    return unsupported === undefined ? enabled : refuse(unsupported);
  } as typeof getEnabledHandoffs;
  Agent.prototype.getSystemPrompt = async function instructionsThroughDoor(this: Agent, context: RunContext) {
    const scope = currentSegment();
    if (typeof scope !== 'object' || typeof this.instructions !== 'function')
      return getSystemPrompt.call(this, context);
    const said = await callbackStep(
      scope,
      `instructions:${this.name}`,
      () => getSystemPrompt.call(this, context),
      unneeded(scope, `the instructions of ${this.name}, a function`),
    );
    return said === null ? undefined : String(said);
  } as typeof getSystemPrompt;
  Agent.prototype.getPrompt = async function promptThroughDoor(this: Agent, context: RunContext) {
    const scope = currentSegment();
    if (typeof scope !== 'object' || typeof this.prompt !== 'function') return getPrompt.call(this, context);
    const said = await callbackStep(
      scope,
      `prompt:${this.name}`,
      () => getPrompt.call(this, context),
      unneeded(scope, `the prompt of ${this.name}, a function`),
    );
    // The SDK takes what the callback gave; it is the same, as JSON.
    return (said ?? undefined) as Awaited<ReturnType<typeof getPrompt>>;
  } as typeof getPrompt;
  setInstrumentation({ isOn: () => currentSegment() !== undefined, refuse: (tool) => refuse(unguarded(tool)) });
  installed = true;
}

/**
 * Whether a predicate is the user's: what the SDK puts in place of none, and of a constant, takes no arguments. Asking those
 * takes no step.
 */
const isUsers = (predicate: unknown): boolean => typeof predicate === 'function' && predicate.length > 0;

/** What a model is told does not matter where its answer is recorded. */
const unneeded = (scope: SegmentContext, what: string) => (source: RecordedSource) =>
  source.untold(scope.turns + 1, what);

async function enabledTools(scope: SegmentContext, agent: Agent, context: RunContext<unknown>): Promise<Tool[]> {
  const enabled: Tool[] = [];
  for (const tool of agent.tools) {
    if (tool.type !== 'function') {
      enabled.push(tool);
      continue;
    }
    const { isEnabled } = tool;
    const ask = () => isEnabled(context, agent);
    const says = isUsers(isEnabled)
      ? await callbackStep(scope, `enabled:${tool.name}`, ask, (source) =>
          source.offered(scope.turns + 1, nameOf(tool)),
        )
      : await ask();
    if (says === true) enabled.push(tool);
  }
  return enabled;
}

async function enabledHandoffs(
  scope: SegmentContext,
  agent: Agent,
  runContext: RunContext<unknown>,
): Promise<Handoff[]> {
  const enabled: Handoff[] = [];
  for (const given of agent.handoffs) {
    const handoff: Handoff = getHandoff(given);
    const ask = () => handoff.isEnabled({ runContext, agent });
    const says = isUsers(handoff.isEnabled)
      ? await callbackStep(scope, `enabled:${handoff.toolName}`, ask, (source) =>
          source.has(scope.turns + 1) ? true : undefined,
        )
      : await ask();
    if (says === true) enabled.push(durableHandoff(scope, handoff));
  }
  return enabled;
}

/** A handoff whose callback (`onHandoff`) is one step. */
function durableHandoff(scope: SegmentContext, handoff: Handoff): Handoff {
  const onInvokeHandoff: Handoff['onInvokeHandoff'] = async (context, args) => {
    const to = await callbackStep(
      scope,
      `handoff:${handoff.toolName}`,
      async () => {
        const agent: Agent = await handoff.onInvokeHandoff(context, args);
        return agent.name;
      },
      (source) => (source.handsOver(scope.turns + 1) ? handoff.agent.name : undefined),
    );
    if (to === handoff.agent.name) return handoff.agent;
    throw new HoldfastError(
      'agent_invalid',
      `The handoff ${handoff.toolName} gave the agent ${String(to)}; it was declared for ${handoff.agent.name}.`,
    );
  };
  return handoff.clone({ onInvokeHandoff });
}
