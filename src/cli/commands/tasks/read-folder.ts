import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { HoldfastError } from '../../../core/errors/errors.js';

/** Reads what somebody else made: no link is followed, nothing but files is opened, and all of it is bounded. */

const FILE_LARGEST = 1_500_000;
const ALL_LARGEST = 16_777_216;
const FILES_MOST = 1500;
const DEEPEST = 16;

export interface FolderFile {
  readonly content: Buffer;
  readonly executable: boolean;
}

/** The files of a directory by their paths below it, in the order of these. Throws `task_unreadable`, which names the file. */
export function readFolder(root: string): ReadonlyMap<string, FolderFile> {
  const found = new Map<string, FolderFile>();
  let bytes = 0;
  const walk = (below: string, depth: number): void => {
    if (depth > DEEPEST) throw unreadable(join(root, below), `it is more than ${DEEPEST} directories deep`);
    for (const name of namesIn(join(root, below))) {
      const path = below === '' ? name : `${below}/${name}`;
      const stat = lstatSync(join(root, path));
      if (stat.isDirectory()) walk(path, depth + 1);
      else {
        const file = readRegular(join(root, path));
        bytes += file.content.length;
        found.set(path, file);
        if (found.size > FILES_MOST) throw unreadable(root, `it holds more than ${FILES_MOST} files`);
        if (bytes > ALL_LARGEST) throw unreadable(root, `its files are larger than ${ALL_LARGEST} bytes together`);
      }
    }
  };
  walk('', 0);
  return found;
}

function namesIn(directory: string): readonly string[] {
  try {
    // Names that are no UTF-8 would come back as others.
    const names = readdirSync(directory, 'buffer').map((name) => {
      const text = name.toString('utf8');
      if (!Buffer.from(text, 'utf8').equals(name)) throw unreadable(`${directory}/${text}`, 'its name is no UTF-8');
      return text;
    });
    return names.sort();
  } catch (error) {
    throw error instanceof HoldfastError ? error : unreadable(directory, codeOf(error));
  }
}

/** A file that is one, and not too large. Throws `task_unreadable`. */
export function readRegular(path: string, largest = FILE_LARGEST): FolderFile {
  let descriptor: number;
  try {
    // A link is refused here and not looked at before, and a pipe does not wait for its other end.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = codeOf(error);
    throw unreadable(path, code === 'ELOOP' ? 'it is a symbolic link; put the file itself there' : code);
  }
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) throw unreadable(path, 'it is no regular file');
    if (stat.size > largest) throw unreadable(path, `it is larger than ${largest} bytes`);
    return { content: allOf(descriptor, path, largest), executable: (stat.mode & 0o111) !== 0 };
  } finally {
    closeSync(descriptor);
  }
}

/** What a file holds, whatever it said of its size. */
function allOf(descriptor: number, path: string, largest: number): Buffer {
  const buffer = Buffer.alloc(largest + 1);
  let length = 0;
  for (;;) {
    const more = readSync(descriptor, buffer, length, buffer.length - length, null);
    length += more;
    if (length > largest) throw unreadable(path, `it is larger than ${largest} bytes`);
    if (more === 0) return Buffer.from(buffer.subarray(0, length));
  }
}

export const unreadable = (path: string, why: string): HoldfastError =>
  new HoldfastError('task_unreadable', `${path} cannot be read: ${why}.`);

/** What the file system says of what there should be. */
const WHY: Readonly<Record<string, string>> = {
  ENOENT: 'it is not there',
  ENOTDIR: 'a file is in the place of a directory',
  EACCES: 'this user may not',
};

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return WHY[code] ?? code;
}
