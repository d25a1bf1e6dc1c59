import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

const CONFIG_FILE = 'holdfast.config.ts';

/** The configuration file to load, if there is one: the one that is named, or that of the working directory. */
export function findConfig(named: string | null): string | null {
  if (named !== null) return named;
  const path = resolve(CONFIG_FILE);
  return existsSync(path) ? path : null;
}
