import { SECRETS_DIR } from '../../core/containers/environment-spec.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { type EngineConnection, EngineRefusal } from '../docker/engine-connection.js';
import { runAttached } from '../exec/exec.js';

const WITHIN_MS = 30_000;

interface Place {
  readonly engine: EngineConnection;
  readonly container: string;
  readonly user: string;
  readonly signal: AbortSignal;
}

/**
 * Writes secrets to files in memory, through standard input: what is in an image, a variable or an argument can be read by the code that sees the
 * container. A stopped container has none. Throws `secret_unreadable`.
 */
export async function putSecrets(
  { engine, container, user, signal }: Place,
  names: readonly string[],
  read: () => Promise<ReadonlyMap<string, string>>,
): Promise<void> {
  if (names.length === 0) return;
  const values = await read();
  for (const name of names) {
    const value = values.get(name);
    if (value === undefined)
      throw new HoldfastError(
        'secret_unreadable',
        `The secret ${name} is not in the configuration of the agent any more.`,
      );
    const argv = ['sh', '-c', 'umask 077; cat >"$1"', 'sh', `${SECRETS_DIR}/${name}`];
    const request = { container, user, argv, input: Buffer.from(value), maxBytes: 1024, timeoutMs: WITHIN_MS };
    const { exitCode } = await runAttached(engine, request, signal);
    if (exitCode !== 0) throw new EngineRefusal(0, `the secret ${name} cannot be written`);
  }
}
