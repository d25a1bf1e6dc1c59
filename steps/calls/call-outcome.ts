import { HoldfastError } from '../../src/core/errors/errors.js';
import type { CallOutcome } from '../../src/core/log/event.js';
import type { ToolSpec } from '../../src/core/tools/tool.js';
import { withoutKnownSecrets, withoutKnownSecretsIn } from '../../src/models/secrets/known-secrets.js';
import { boundOutput } from '../../src/tools/define/output-bound.js';
import { textOf } from './late-throws.js';

export const errorOutcome = (spec: ToolSpec, error: unknown): CallOutcome => {
  const code = error instanceof HoldfastError ? error.code : 'tool_failed';
  const message = withoutKnownSecrets(textOf(error));
  if (code === 'capability_denied')
    return { type: 'refused', why: 'denied', message: message.slice(0, 4096).toWellFormed() };
  return { type: 'error', code, message: `${spec.name} failed: ${message}`.slice(0, 4096).toWellFormed() };
};

export function outputOf(spec: ToolSpec, value: unknown): CallOutcome {
  const parsed = spec.parseOutput(value);
  if (!parsed.ok)
    return {
      type: 'error',
      code: 'tool_failed',
      message: withoutKnownSecrets(`${spec.name} returned something else than it declares: ${parsed.problem}`),
    };
  try {
    return { type: 'output', output: withoutKnownSecretsIn(boundOutput(spec, parsed.output)) };
  } catch (error) {
    return errorOutcome(spec, error);
  }
}
