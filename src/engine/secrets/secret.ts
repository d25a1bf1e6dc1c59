import { environmentVariable } from '../../config.js';
import { commandSecret, fileSecret, type Secret, variableSecret } from '../../models/secrets/secret.js';

/** What programs need to be found and to work; none of it is a secret. */
const EVERYWHERE = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];

const stated = (names: readonly string[]): { readonly [name: string]: string } =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = environmentVariable(name);
      return value === null ? [] : [[name, value]];
    }),
  );

/**
 * Where a key is, in place of the key: `openaiCompatible({ key: secret.file('/run/secrets/key') })`. It is read when the first request
 * needs it, and again when a server refuses it (401, 403), so that a new key needs no restart. A command gets the variables that `env`
 * names, and few that every program needs; no other of this process.
 */
export const secret = {
  /** A variable of the environment. */
  env: (name: string): Secret => variableSecret(name, environmentVariable),
  file: fileSecret,
  command: (command: readonly string[], { env = [] }: { readonly env?: readonly string[] } = {}): Secret =>
    commandSecret(command, () => stated([...EVERYWHERE, ...env])),
};
