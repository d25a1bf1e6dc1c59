import { Agent } from '@openai/agents';

/** An agent, those that it can hand over to, and those that they can, each once. */
export function reachableAgents(start: Agent): readonly Agent[] {
  const reached = new Set([start]);
  for (const agent of reached) {
    for (const handoff of agent.handoffs) {
      const next: unknown = handoff instanceof Agent ? handoff : handoff.agent;
      if (next instanceof Agent) reached.add(next);
    }
  }
  return [...reached];
}

/** The agent of a name among those that a run can reach by handoffs: a call may have been followed by one. */
export const findReachableAgent = (start: Agent, name: string): Agent | undefined =>
  reachableAgents(start).find((agent) => agent.name === name);
