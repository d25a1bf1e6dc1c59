import {
  GuardrailExecutionError,
  InputGuardrailTripwireTriggered,
  ModelBehaviorError,
  OutputGuardrailTripwireTriggered,
  ToolCallError,
} from '@openai/agents';
import { type ErrorCode, HoldfastError } from '../src/core/errors/errors.js';
import type { Ending } from '../src/core/runs/ending.js';
import { withoutKnownSecrets } from '../src/models/secrets/known-secrets.js';

const codeOf = (error: unknown): ErrorCode => {
  if (error instanceof HoldfastError) return error.code;
  if (error instanceof InputGuardrailTripwireTriggered || error instanceof OutputGuardrailTripwireTriggered)
    return 'guardrail_tripped';
  if (error instanceof GuardrailExecutionError) return 'guardrail_failed';
  if (error instanceof ModelBehaviorError) return 'output_invalid';
  return error instanceof ToolCallError ? 'tool_failed' : 'run_failed';
};

/** How a run ends by an error that the SDK threw out of the agent. */
export function outcomeFromError(error: unknown): Ending {
  const inner = error instanceof ToolCallError && error.error instanceof HoldfastError ? error.error : error;
  const message = withoutKnownSecrets(inner instanceof Error ? inner.message : String(inner));
  return { type: 'failed', error: new HoldfastError(codeOf(inner), message.slice(0, 4096).toWellFormed()).view() };
}
