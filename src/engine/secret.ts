import { environmentVariable } from '../config.js';
import { commandSecret, fileSecret, type Secret, variableSecret } from '../models/secret.js';

/**
 * Where a key is, in place of the key: `openaiCompatible({ key: secret.file('/run/secrets/key') })`. It is read when the first request
 * needs it, and again when a server refuses it (401, 403), so that a new key needs no restart.
 */
export const secret = {
  /** A variable of the environment. */
  env: (name: string): Secret => variableSecret(name, environmentVariable),
  file: fileSecret,
  command: commandSecret,
};
