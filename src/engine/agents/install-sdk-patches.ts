import type { ModelProvider } from '@openai/agents';
import { installAgentDoors } from '../../../workflows/sdk/agent-door.js';
import { installMcpDoor } from '../../../workflows/sdk/mcp-door.js';
import { installRunnerDoor } from '../../../workflows/sdk/runner-door.js';

/** Opens the doors through which the SDK reaches agents in a segment. `provider` null: no step will run an agent. */
export function openDoors(provider: ModelProvider | null): void {
  installAgentDoors();
  installMcpDoor();
  installRunnerDoor(provider);
}
