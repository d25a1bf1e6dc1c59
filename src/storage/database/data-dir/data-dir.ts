import { existsSync, lstatSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HoldfastError } from '../../../core/errors/errors.js';
import { closePath, closeTree, makeDirectory, OTHERS } from './private-files.js';

const WRITABLE_BY_ALL = 0o002;

/** What Holdfast makes in a data directory. What begins with one of these and a dot is ours too: drafts, and keys beside a key. */
const OURS: readonly string[] = [
  ...[
    '.gitignore',
    'lock',
    'pg',
    'pg-is-being-made',
    'token',
    'checkpoints.jsonl',
    'signing-key',
    'exports',
    'artifacts',
    'egress',
    'demo',
  ],
];

/** What containers of other users must read stays as it was made, below a directory that is closed. */
const SHARED_WITH_CONTAINERS = 'egress';

const isOurs = (name: string): boolean => OURS.some((one) => name === one || name.startsWith(`${one}.`));

/** The names in a data directory that Holdfast has not made. */
export const foreignNames = (dataDir: string): readonly string[] =>
  // A disk has this one at its root.
  readdirSync(dataDir).filter((name) => !isOurs(name) && name !== 'lost+found');

/**
 * Makes the data directory, or takes one that is there, for this user alone: 700 for directories, 600 for files, whatever the modes
 * were. A directory that also holds files of someone else keeps its own mode, and so does one of another owner; what is ours in it is
 * closed. Throws `config_invalid` where every user of the machine could put something else in the place of our files, and what the system throws.
 */
export function takeDataDir(dataDir: string): void {
  makeDirectory(dataDir);
  const { mode, uid } = statSync(dataDir);
  const foreign = foreignNames(dataDir);
  const isMine = uid === process.getuid?.();
  if (isMine && foreign.length === 0) {
    closePath(dataDir);
    keepOutOfGit(dataDir);
  } else if ((mode & WRITABLE_BY_ALL) !== 0)
    throw openToAll(dataDir, isMine ? `holds ${foreign[0]}` : `is of user ${uid}`);
  for (const name of readdirSync(dataDir).filter(isOurs)) closeOurs(join(dataDir, name), name);
}

/** A database and a token are in no repository. A file that is there stays as it is. */
function keepOutOfGit(dataDir: string): void {
  const file = join(dataDir, '.gitignore');
  if (!existsSync(file)) writeFileSync(file, '*\n', { mode: 0o600 });
}

function closeOurs(path: string, name: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  // A link leads to what its maker has chosen.
  if (found === undefined || found.uid !== process.getuid?.() || found.isSymbolicLink()) return;
  if (found.isFile() || name === SHARED_WITH_CONTAINERS) closePath(path);
  else if (found.isDirectory() && (found.mode & OTHERS) !== 0) closeTree(path);
}

const openToAll = (dataDir: string, why: string): HoldfastError =>
  new HoldfastError(
    'config_invalid',
    `The data directory ${dataDir} can be written by every user of this machine, and Holdfast does not close it, since it ${why}.`,
    {
      hint: `Run \`chmod o-w ${dataDir}\`, or set HOLDFAST_DATA_DIR to a directory below it, which Holdfast makes for this user alone.`,
    },
  );
