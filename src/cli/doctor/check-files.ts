import { accessSync, constants, existsSync, mkdtempSync, rmdirSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Settings } from '../../config.js';
import { foreignNames } from '../../storage/database/data-dir/data-dir.js';
import { type Finding, fail, ok, warn } from './finding.js';

const OTHERS = 0o077;
const WRITABLE_BY_ALL = 0o002;

const modeOf = (stat: Stats): string => (stat.mode & 0o777).toString(8);

/** Tried, since file systems such as /proc take nothing, also of a user who may everything. */
function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    rmdirSync(mkdtempSync(join(path, '.holdfast-')));
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
  const open = `other users may enter ${dataDir} (mode ${modeOf(stat)})`;
  const isMine = stat.uid === process.getuid?.();
  const [foreign] = foreignNames(dataDir);
  if (isMine && foreign === undefined) return warn(check, `${open}; the next start closes it`, `chmod 700 ${dataDir}`);
  const whose = isMine ? `it holds ${foreign}, which Holdfast has not made` : `it is of user ${stat.uid}`;
  const writable = (stat.mode & WRITABLE_BY_ALL) !== 0;
  const stays = `${open}, and stays so: ${whose}${writable ? '; no server starts while everybody may write there' : ''}`;
  return (writable ? fail : warn)(
    check,
    stays,
    `chmod 700 ${dataDir}, or set HOLDFAST_DATA_DIR to a directory below it`,
  );
}

/** Files that hold tokens, which are for their owner alone. */
export function checkTokenFiles({ dataDir, tokensFile, tokens }: Settings): Finding {
  const check = 'tokens';
  const made = join(dataDir, 'token');
  const open = [tokensFile, made]
    .filter((file) => file !== null)
    .filter((file) => existsSync(file) && (statSync(file).mode & OTHERS) !== 0);
  if (open.length > 0) return fail(check, `other users may read ${open.join(', ')}`, `chmod 600 ${open.join(' ')}`);
  const silent = tokens.every(({ installation }) => installation === undefined);
  if (silent && new Set(tokens.map(({ tenant }) => tenant)).size > 1)
    return warn(
      check,
      `${tokens.length} configured, of several tenants; none says who operates the installation, so admins of the tenant default do`,
      'Say "installation": "operator" in the entry of the token that its operator has.',
    );
  if (tokens.length > 0) return ok(check, `${tokens.length} configured`);
  return ok(check, existsSync(made) ? made : `${made} is made at the first start`);
}
