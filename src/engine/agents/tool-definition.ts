import type { Agent } from '@openai/agents';
import { type JsonObject, toJson } from '../../core/json.js';
import type { ToolSpec } from '../../core/tools/tool.js';
import { toolSpecOf } from '../../tools/define/define-tool.js';
import { subAgentOf } from '../../tools/define/sub-agent.js';

/** What the definition of an agent says of one of its tools. */
export const toolDefinition = (tool: Agent['tools'][number]): JsonObject =>
  tool.type === 'function'
    ? { ...declaredOf(toolSpecOf(tool)), input: toJson(tool.parameters), ...subAgentIn(tool) }
    : { name: tool.name, type: tool.type };

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
