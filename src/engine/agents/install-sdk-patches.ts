import type { ModelProvider } from '@openai/agents';
import { installAgentDoors } from '../../../workflows/sdk/patch-agent.js';
import { installMcpDoor } from '../../../workflows/sdk/patch-mcp.js';
import { installRunnerDoor } from '../../../workflows/sdk/patch-runner.js';

/** Opens the doors through which the SDK reaches agents in a segment. `provider` null: no step will run an agent. */
export function openDoors(provider: ModelProvider | null): void {
  installAgentDoors();
  installMcpDoor();
  installRunnerDoor(provider);
}
