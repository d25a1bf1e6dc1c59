import { Agent } from '@openai/agents';
import { HoldfastError } from '../core/errors.js';
import { type GrantSet, grantsToJson, parseGrants } from '../core/grants.js';
import { canonical, type JsonObject, sha256, toJson } from '../core/json.js';
import type { RunLimits } from '../core/run.js';
import type { ToolSpec } from '../core/tool.js';
import { toolSpecOf } from '../tools/define-tool.js';
import type { AgentDeclaration, HoldfastConfig } from './define.js';
import type { AgentView } from './verbs.js';

export interface RegisteredAgent {
  readonly name: string;
  readonly version: string;
  readonly agent: Agent;
  readonly grants: GrantSet;
  readonly limits: RunLimits;
  readonly onDenied: 'stop' | 'tell';
  readonly definition: string;
  readonly definitionHash: string;
  readonly view: AgentView;
  readonly toolSpecs: ReadonlyMap<string, ToolSpec>;
}

const DEFAULT_MAX_TURNS = 100;

/** Reads the agents of a configuration. Throws `agent_invalid` naming the agent and what is wrong with it. */
export function registerAgents(config: HoldfastConfig): ReadonlyMap<string, RegisteredAgent> {
  const agents = new Map<string, RegisteredAgent>();
  for (const entry of config.agents) {
    const registered = register(entry instanceof Agent ? { agent: entry } : entry);
    if (agents.has(registered.name))
      throw new HoldfastError('agent_invalid', `Two agents have the name ${registered.name}.`);
    agents.set(registered.name, registered);
  }
  return agents;
}

function register(declaration: AgentDeclaration): RegisteredAgent {
  const { agent, version = '1', onDenied = 'stop' } = declaration;
  if (!(agent instanceof Agent))
    throw new HoldfastError(
      'agent_invalid',
      'An entry of `agents` is neither an Agent of @openai/agents nor { agent }.',
    );
  const { name } = agent;
  const limits = limitsOf(declaration);
  const grants = parseGrants(declaration.grants ?? [], { allowEverything: declaration.allowEverything === true });
  const specs = agent.tools.flatMap((tool) => (tool.type === 'function' ? [toolSpecOf(tool)] : []));
  const model = typeof agent.model === 'string' ? agent.model : agent.model.constructor.name;
  const definition = canonical({
    ...{ name, version, model, onDenied, limits, grants: grantsToJson(grants) },
    instructions: typeof agent.instructions === 'string' ? agent.instructions : '(computed)',
    modelSettings: toJson(agent.modelSettings),
    tools: specs.map(definitionOfTool),
    handoffs: agent.handoffs.map((handoff) => ('agentName' in handoff ? handoff.agentName : handoff.name)),
  });
  const definitionHash = sha256(definition);
  const view: AgentView = {
    ...{ name, version, definitionHash, model: model === '' ? null : model, tools: specs.map((spec) => spec.name) },
    grants: grants.grants.map((grant) =>
      grant.effect === 'allow' ? grant.capability : `${grant.effect} ${grant.capability}`,
    ),
  };
  const toolSpecs = new Map(specs.map((spec) => [spec.name, spec]));
  return { name, version, agent, grants, limits, onDenied, definition, definitionHash, view, toolSpecs };
}

const definitionOfTool = (spec: ToolSpec): JsonObject => ({
  ...{ name: spec.name, version: spec.version, description: spec.description, effect: spec.effect },
  ...{ deterministic: spec.deterministic, timeoutMs: spec.timeoutMs, onUnknownEffect: spec.onUnknownEffect },
});

function limitsOf(declaration: AgentDeclaration): RunLimits {
  const limits = {
    maxTurns: declaration.maxTurns ?? DEFAULT_MAX_TURNS,
    maxTotalTokens: declaration.maxTotalTokens ?? null,
    maxDurationMs: declaration.maxDurationMs ?? null,
  };
  for (const [name, value] of Object.entries(limits)) {
    if (value !== null && !(Number.isSafeInteger(value) && value > 0)) {
      throw new HoldfastError(
        'agent_invalid',
        `${name} of the agent ${declaration.agent.name} is ${value}; a whole number above 0 was expected.`,
      );
    }
  }
  return limits;
}
