import { environmentVariable } from '../../config.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { problemOf, type Setting } from '../../core/setting.js';

/** One setting of the environment, and no other one is looked at. Throws `config_invalid`, which names it. */
export function readSetting<T>(setting: Setting<T>): T {
  const value = environmentVariable(setting.name) ?? undefined;
  const problem = problemOf(setting, { [setting.name]: value });
  if (problem !== null) throw new HoldfastError('config_invalid', problem.detail, { fields: [problem] });
  return setting.parse(value);
}
