import type { Agent } from '@openai/agents';
import { z } from 'zod';
import { type JsonObject, type JsonValue, toJson } from '../../core/json.js';
import { serverLabel } from '../../core/tools/mcp.js';
import type { ToolSpec } from '../../core/tools/tool.js';
import { toolSpecOf } from '../../tools/define/define-tool.js';
import { reachableAgents } from '../../tools/define/reachable-agents.js';
import { subAgentOf } from '../../tools/define/sub-agent.js';

/**
 * What is kept of agents as they were when a run ran: all of them that can say something, and of functions that they are there. `tools`:
 * those of the first, with its scaffold's.
 */
export function definitionOf(agent: Agent, tools: Agent['tools']): JsonObject {
  const others = reachableAgents(agent).slice(1);
  const agents = others.map((other) => ownDefinition(other, other.tools));
  return { ...ownDefinition(agent, tools), ...(others.length === 0 ? {} : { agents }) };
}

export const modelNameOf = ({ model }: Agent): string => (typeof model === 'string' ? model : model.constructor.name);

const ownDefinition = (agent: Agent, tools: Agent['tools']): JsonObject => ({
  name: agent.name,
  model: modelNameOf(agent),
  instructions: typeof agent.instructions === 'string' ? agent.instructions : '(computed)',
  modelSettings: toJson(agent.modelSettings),
  output: outputOf(agent),
  tools: tools.map((tool) =>
    tool.type === 'function'
      ? { ...declaredOf(toolSpecOf(tool)), input: toJson(tool.parameters), ...subAgentIn(tool) }
      : { name: tool.name, type: tool.type },
  ),
  ...(agent.mcpServers.length === 0 ? {} : { mcpServers: agent.mcpServers.map(({ name }) => serverLabel(name)) }),
  handoffs: agent.handoffs.map((handoff) => ('agentName' in handoff ? handoff.agentName : handoff.name)),
});

const declaredOf = (spec: ToolSpec): JsonObject => ({
  ...{ name: spec.name, version: spec.version, description: spec.description, effect: spec.effect },
  ...{ deterministic: spec.deterministic, timeoutMs: spec.timeoutMs, onUnknownEffect: spec.onUnknownEffect },
  ...(spec.isolated === undefined ? {} : { isolated: isolatedIn(spec.isolated) }),
  ...(spec.approvals === 1 ? {} : { approvals: spec.approvals }),
  ...(spec.separateRequester === undefined ? {} : { separateRequester: spec.separateRequester }),
});

/** Where its module lies on this machine says nothing of what it is. */
const isolatedIn = ({
  isolation,
  export: name,
  memoryMb,
  cpuSeconds,
}: NonNullable<ToolSpec['isolated']>): JsonObject => ({
  ...{ isolation, export: name, memoryMb, cpuSeconds },
});

const subAgentIn = (tool: object): JsonObject => {
  const spec = subAgentOf(tool);
  return spec === undefined ? {} : { subAgent: toJson(spec) };
};

/** The declared output as a JSON schema. */
function outputOf({ outputType }: Agent): JsonValue {
  const declared: unknown = outputType;
  if (!(declared instanceof z.ZodType)) return toJson(declared);
  return toJson(z.toJSONSchema(declared, { unrepresentable: 'any' }));
}
