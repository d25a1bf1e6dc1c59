import { Agent, type RunContext, type Tool } from '@openai/agents';
import { HoldfastError } from '../src/core/errors.js';
import { asDurable } from './durable-model.js';
import { guard } from './guarded-tool.js';
import { currentScope, type SegmentScope } from './segment-scope.js';

const instrumented = new WeakSet<Agent>();

/**
 * Makes a model that an agent holds itself durable, for as long as it is read inside a segment, and keeps results that are
 * not there yet from ending a run: after a call that waits, the agent always asks its model again, which is refused.
 */
function watch(agent: Agent): void {
  if (instrumented.has(agent)) return;
  instrumented.add(agent);
  let { model, toolUseBehavior } = agent;
  Object.defineProperty(agent, 'model', {
    configurable: true,
    enumerable: true,
    get: () => (typeof model === 'object' && typeof currentScope() === 'object' ? asDurable(model, agent.name) : model),
    set: (value: Agent['model']) => {
      model = value;
    },
  });
  Object.defineProperty(agent, 'toolUseBehavior', {
    configurable: true,
    enumerable: true,
    get: () => (isStopping(currentScope()) ? 'run_llm_again' : toolUseBehavior),
    set: (value: Agent['toolUseBehavior']) => {
      toolUseBehavior = value;
    },
  });
}

const isStopping = (scope: ReturnType<typeof currentScope>): boolean =>
  typeof scope === 'object' && scope.stop !== null;

let installed = false;

/**
 * The one door through which the SDK gets the tools of an agent, so that handed-off agents are covered too. Active only
 * inside a segment: elsewhere the same agents work plainly.
 */
export function installToolDoor(): void {
  if (installed) return;
  const original: unknown = Agent.prototype.getAllTools;
  if (typeof original !== 'function') {
    throw new HoldfastError(
      'library_changed',
      'Agent.prototype.getAllTools of @openai/agents is not a function any more.',
    );
  }
  const getAllTools = Agent.prototype.getAllTools;
  Agent.prototype.getAllTools = async function guardedTools(this: Agent, ...args: Parameters<typeof getAllTools>) {
    const scope = currentScope();
    const tools: Tool[] = await getAllTools.apply(this, args);
    if (scope === undefined) return tools;
    if (scope === 'step') {
      throw new HoldfastError(
        'agent_invalid',
        `${this.name} would run inside a tool call of another agent, which is not durable.`,
      );
    }
    watch(this);
    return tools.map((tool) => guardAny(scope, tool, args[0]));
  };
  installed = true;
}

function guardAny(scope: SegmentScope, tool: Tool, context: RunContext<unknown>): Tool {
  if (tool.type === 'function') return guard(scope, tool, context);
  // A hosted tool runs at the provider, inside the model call; every other kind would run here, outside a guard.
  if (tool.type === 'hosted_tool') return tool;
  throw new HoldfastError(
    'agent_invalid',
    `The tool ${tool.name} is of the type ${tool.type}; only function tools and hosted tools can run durably.`,
  );
}
