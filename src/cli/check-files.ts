import { accessSync, constants, existsSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Settings } from '../config.js';
import { type Finding, fail, ok, warn } from './finding.js';

const OTHERS = 0o077;

const modeOf = (stat: Stats): string => (stat.mode & 0o777).toString(8);

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function checkDataDir({ dataDir }: Settings): Finding {
  const check = 'data directory';
  const elsewhere = 'Set HOLDFAST_DATA_DIR to a directory that this user may write.';
  if (!existsSync(dataDir)) {
    let parent = dirname(dataDir);
    while (!existsSync(parent)) parent = dirname(parent);
    if (isWritable(parent)) return ok(check, `${dataDir} is made at the first start`);
    return fail(check, `${dataDir} does not exist and cannot be made: ${parent} is not writable`, elsewhere);
  }
  const stat = statSync(dataDir);
  if (!stat.isDirectory()) return fail(check, `${dataDir} is not a directory`, elsewhere);
  if (!isWritable(dataDir)) return fail(check, `${dataDir} is not writable for this user`, elsewhere);
  if ((stat.mode & OTHERS) === 0) return ok(check, dataDir);
  return warn(check, `other users may enter ${dataDir} (mode ${modeOf(stat)})`, `chmod 700 ${dataDir}`);
}

/** Files that hold tokens, which are for their owner alone. */
export function checkTokenFiles({ dataDir, tokensFile, tokens }: Settings): Finding {
  const check = 'tokens';
  const made = join(dataDir, 'token');
  const open = [tokensFile, made]
    .filter((file) => file !== null)
    .filter((file) => existsSync(file) && (statSync(file).mode & OTHERS) !== 0);
  if (open.length > 0) return fail(check, `other users may read ${open.join(', ')}`, `chmod 600 ${open.join(' ')}`);
  if (tokens.length > 0) return ok(check, `${tokens.length} configured`);
  return ok(check, existsSync(made) ? made : `${made} is made at the first start`);
}
