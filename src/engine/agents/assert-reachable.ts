import type { Agent } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import { nameWithoutControls } from '../../core/json.js';
import { nearestName } from '../../core/nearest-name.js';
import { serverLabel } from '../../core/tools/mcp.js';
import { reachableAgents } from '../../tools/define/reachable-agents.js';
import { subAgentOf } from '../../tools/define/sub-agent.js';

/** What the agents that one can come to, by handoffs and by tools, must have. */

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

/**
 * Rules for a server that no run can come to would leave another one without them. An agent behind a tool (`asTool()`) may have servers that
 * are not seen here. Throws `agent_invalid`.
 */
export function assertServers(name: string, start: Agent, rules: object): void {
  const reached = reachableAgents(start);
  if (reached.some(({ tools }) => tools.some((tool) => 'on' in tool))) return;
  const servers = reached.flatMap(({ mcpServers }) => mcpServers.map((server) => serverLabel(server.name)));
  const unknown = Object.keys(rules).find((one) => !servers.includes(one));
  if (unknown === undefined) return;
  const near = nearestName(unknown, servers);
  const known = near === null ? servers.join(', ') || 'none' : near;
  const detail = `no agent that its runs come to has this server; ${near === null ? 'they have' : 'the nearest is'} ${known}`;
  throw new HoldfastError('agent_invalid', `The agent ${name} is not valid: mcp/${unknown}: ${detail}.`, {
    fields: [{ pointer: `/mcp/${unknown}`, detail }],
  });
}

/** Names of agents are in columns, in keys of the queue, in filters and in logs. Throws `agent_invalid`. */
export function assertNames(start: Agent): void {
  for (const { name } of reachableAgents(start)) {
    const problem = nameWithoutControls.safeParse(name).error?.issues[0]?.message;
    if (problem === undefined) continue;
    const shown = JSON.stringify(String(name).slice(0, 80).toWellFormed());
    throw new HoldfastError('agent_invalid', `The name ${shown} of an agent is not valid: ${problem}.`);
  }
}

/** Calls, approvals and stored states know an agent by its name: two of one name would be taken for each other. Throws `agent_invalid`. */
export function assertNamedApart(name: string, start: Agent): void {
  const names = reachableAgents(start).map((one) => one.name);
  const double = names.find((one, index) => names.indexOf(one) < index);
  if (double === undefined) return;
  throw new HoldfastError('agent_invalid', `Two agents that runs of ${name} can come to have the name ${double}.`);
}
