import type { ModelRequest } from '@openai/agents';

/**
 * A request that the client of the `openai` package does not send again on its own: whoever asks sees the first failure. Said
 * by a member that the SDK has for its own retries and does not declare; a model that does not know it is not disturbed.
 */
export const withoutRetries = (request: ModelRequest): ModelRequest =>
  Object.assign({ ...request }, { _internal: { runnerManagedRetry: true } });
