import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { elsewhere, fileProblem } from './file-problem.js';

/**
 * Where a path really leads: the real path of its nearest ancestor that exists, and the names below it that do not exist yet.
 * A link that leads to nothing counts as such a name; opening it fails later, because no link is followed.
 */
export async function resolveReal(path: string): Promise<string> {
  let missing = '';
  for (let at = path; ; at = dirname(at)) {
    try {
      return join(await realpath(at), missing);
    } catch (error) {
      if (!isMissing(error) || at === '/') throw fileProblem(error, path);
      missing = join(basename(at), missing);
    }
  }
}

export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

/**
 * Opens the file or directory at a real path for reading and does the work with it, then closes it. What was opened is compared
 * with the path afterwards, so that a link that was put in the way between check and open leads nowhere: `capability_denied`.
 */
export async function withOpened<T>(
  realPath: string,
  flags: number,
  work: (handle: FileHandle) => Promise<T>,
): Promise<T> {
  let handle: FileHandle | undefined;
  try {
    // O_NONBLOCK: a pipe without a writer does not hold the call.
    handle = await open(realPath, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | flags);
    await assertOpenedAt(handle, realPath);
    return await work(handle);
  } catch (error) {
    throw fileProblem(error, realPath);
  } finally {
    await handle?.close();
  }
}

/**
 * Compares what was opened with the path that was granted. On Linux the kernel says what a descriptor is; elsewhere the
 * path is resolved again and must be the same file.
 */
async function assertOpenedAt(handle: FileHandle, realPath: string): Promise<void> {
  const actual = await descriptorPath(handle);
  const same = actual === null ? await isStillAt(handle, realPath) : actual === realPath;
  if (!same) throw elsewhere(realPath, 'it was replaced while it was being opened');
}

async function isStillAt(handle: FileHandle, realPath: string): Promise<boolean> {
  const [opened, there, resolved] = await Promise.all([handle.stat(), lstat(realPath), realpath(realPath)]);
  return resolved === realPath && opened.dev === there.dev && opened.ino === there.ino;
}

/** A path that reaches whatever the descriptor holds, wherever it was moved to; null where the system has none. */
const descriptorLink = (handle: FileHandle): string => `/proc/self/fd/${handle.fd}`;

async function descriptorPath(handle: FileHandle): Promise<string | null> {
  try {
    return await readlink(descriptorLink(handle));
  } catch {
    return null;
  }
}

/** The path under which the entries of an opened directory are reached: through its descriptor where the system can. */
export async function entryBase(handle: FileHandle, realPath: string): Promise<string> {
  return (await descriptorPath(handle)) === null ? realPath : descriptorLink(handle);
}
