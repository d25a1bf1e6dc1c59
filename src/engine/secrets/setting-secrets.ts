import { readFileSync } from 'node:fs';
import { environmentVariable, SETTINGS } from '../../config.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { KEY_VARIABLES } from '../../core/evidence/key-settings.js';
import { jsonOrNull } from '../../core/json.js';
import { problemOf, type Setting } from '../../core/setting.js';
import { knowAddress, knowSecret } from '../../models/secrets/known-secrets.js';
import { fileSecret, type Secret } from '../../models/secrets/secret.js';

/** The secrets that settings hold, and those of the files that they name. */

const TOKENS = 'HOLDFAST_TOKENS';
/** PostgreSQL's clients take it where an address has no password. */
const OTHER_VARIABLES = ['PGPASSWORD'];

/** Makes known what the settings hold themselves. It throws nothing: what is wrong with a setting is said by who reads it. */
export function knowSettings(): void {
  for (const { name, isSecret } of SETTINGS) {
    const value = environmentVariable(name);
    if (value === null) continue;
    for (const part of value.split(/\s+/)) knowAddress(part);
    if (name === TOKENS) knowTokens(value);
    else if (isSecret && !value.includes('://')) knowSecret(value);
  }
  const file = tokensFile();
  if (file !== null) knowTokens(readQuietly(file));
  for (const name of OTHER_VARIABLES) knowSecret(environmentVariable(name) ?? '');
}

/** The file of tokens that a setting names; null: none. */
export const tokensFile = (): string | null => environmentVariable('HOLDFAST_TOKENS_FILE');

function readQuietly(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Files of keys that settings name. */
export function filesOfSettings(): readonly Secret[] {
  const paths = KEY_VARIABLES.map((name) => environmentVariable(`${name}_FILE`));
  return paths.flatMap((path) => (path === null ? [] : [fileSecret(path)]));
}

/** Each token of a list, as far as it can be read. */
function knowTokens(list: string): void {
  const written = [...list.matchAll(/"token"\s*:\s*("(?:[^"\\]|\\.)*")/g)].map(([, token = '']) => jsonOrNull(token));
  const tokens = written.filter((token) => typeof token === 'string');
  for (const token of tokens) knowSecret(token);
  // Nothing can be told apart in it.
  if (tokens.length === 0) knowSecret(list);
}

/** One setting of the environment, and no other one is looked at. Throws `config_invalid`, which names it. */
export function readSetting<T>(setting: Setting<T>): T {
  const value = environmentVariable(setting.name) ?? undefined;
  const problem = problemOf(setting, { [setting.name]: value });
  if (problem !== null) throw new HoldfastError('config_invalid', problem.detail, { fields: [problem] });
  return setting.parse(value);
}
