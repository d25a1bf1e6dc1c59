import type { AgentEnvironment } from '../../core/containers/environment.js';
import { environmentSpec } from '../../core/containers/environment-spec.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { HeldSecret } from '../../models/secrets/held-secret.js';
import { isSecret } from '../../models/secrets/secret.js';
import type { EnvironmentDeclaration } from './define.js';

/** The environment of a declaration as values: of secrets only the names. */
export function plainEnvironment(declared: EnvironmentDeclaration | undefined): { readonly environment?: object } {
  if (typeof declared !== 'object' || declared === null) return declared === undefined ? {} : { environment: declared };
  const { secrets, ...environment } = declared;
  return { environment: secrets === undefined ? environment : { ...environment, secrets: Object.keys(secrets) } };
}

/** What runs of an agent get, after its declaration was found to be valid. Throws `agent_invalid` for what is no secret. */
export function agentEnvironment(declared: EnvironmentDeclaration | undefined): AgentEnvironment | null {
  if (declared === undefined) return null;
  const held = Object.entries(declared.secrets ?? {}).map(([name, secret]) => {
    const problem = isSecret(secret) ? (secret.problem ?? null) : 'it is none, such as secret.env(...)';
    if (problem !== null)
      throw new HoldfastError('agent_invalid', `The secret ${name} of the environment: ${problem}.`);
    return [name, new HeldSecret(secret)] as const;
  });
  return {
    spec: environmentSpec.parse(plainEnvironment(declared).environment),
    secrets: async () =>
      new Map(await Promise.all(held.map(async ([name, one]) => [name, await one.value()] as const))),
  };
}
