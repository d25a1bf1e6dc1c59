import { environmentVariable } from '../../config.js';
import { isRecord } from '../../core/json.js';
import { firstUnknownName } from '../../core/nearest-name.js';
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
  command: (command: readonly string[], options: { readonly env?: readonly string[] } = {}): Secret => {
    const env = isRecord(options) && Array.isArray(options.env) ? options.env : [];
    const made = commandSecret(command, () => stated([...EVERYWHERE, ...env]));
    return { ...made, problem: made.problem ?? optionsProblem(options) };
  },
};

/** Says what is wrong with what a program in JavaScript gives; null: nothing. */
function optionsProblem(options: unknown): string | null {
  if (!isRecord(options)) return 'expected options, such as { env: [names of variables] }';
  const unknown = firstUnknownName(options, ['env']);
  if (unknown !== undefined) return `the option ${unknown.name} ${unknown.detail}`;
  const { env = [] } = options;
  const isName = (name: unknown): boolean => typeof name === 'string' && /^[A-Za-z_]\w*$/.test(name);
  return Array.isArray(env) && env.every(isName) ? null : 'expected a list of names of variables as `env`';
}
