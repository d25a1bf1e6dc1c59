import { Agent } from '@openai/agents';

/** The agent of a name among those that a run can reach by handoffs: a call may have been followed by one. */
export function reachableAgent(start: Agent, name: string): Agent | undefined {
  const reached = new Set([start]);
  for (const agent of reached) {
    if (agent.name === name) return agent;
    for (const handoff of agent.handoffs) reached.add(handoff instanceof Agent ? handoff : handoff.agent);
  }
  return undefined;
}
