import type { Agent } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import { reachableAgents } from '../../tools/define/reachable-agents.js';
import { subAgentOf } from '../../tools/define/sub-agent.js';

/** Every agent that a tool of an agent runs, or of one that it can hand over to, must be there. Throws `agent_invalid`. */
export function assertSubAgents(name: string, start: Agent, agents: ReadonlyMap<string, unknown>): void {
  for (const { tools } of reachableAgents(start)) {
    for (const tool of tools) {
      const target = subAgentOf(tool)?.agent;
      if (target === undefined || agents.has(target)) continue;
      const known = [...agents.keys()].join(', ');
      throw new HoldfastError(
        'agent_invalid',
        `The tool ${tool.name} of the agent ${name} runs the agent ${target}, which is not among the agents: ${known}.`,
      );
    }
  }
}
