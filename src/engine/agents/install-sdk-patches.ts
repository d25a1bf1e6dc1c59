import type { ModelProvider } from '@openai/agents';
import { patchAgent } from '../../../workflows/sdk/patch-agent.js';
import { patchMcp } from '../../../workflows/sdk/patch-mcp.js';
import { patchRunner } from '../../../workflows/sdk/patch-runner.js';

/** Opens the doors through which the SDK reaches agents in a segment. `provider` null: no step will run an agent. */
export function installSdkPatches(provider: ModelProvider | null): void {
  patchAgent();
  patchMcp();
  patchRunner(provider);
}
