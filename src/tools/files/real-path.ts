import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';

/** A path as the file tools take it. Tools have no working directory. What else is wrong with a path, its capability check says. */
export const absolutePath = z
  .string()
  .max(4096)
  .refine((path) => path.startsWith('/'), 'must be an absolute path, such as /data/notes.txt');

const errno = z.object({ code: z.string() });

const MEANING: { readonly [code: string]: string } = {
  ENOENT: 'does not exist',
  EACCES: 'may not be opened by this process',
  EPERM: 'may not be opened by this process',
  EISDIR: 'is a directory',
  ENOTDIR: 'is not a directory, or lies below a file',
  ENAMETOOLONG: 'has a name that is too long',
  ENOSPC: 'does not fit on the disk',
  EROFS: 'lies on a read-only disk',
  ENXIO: 'is not a file',
};

/** What went wrong with a file, in words that a model can act on. Another kind of error is given back as it is. */
export function fileProblem(error: unknown, path: string): unknown {
  const parsed = errno.safeParse(error);
  if (error instanceof HoldfastError || !parsed.success) return error;
  const { code } = parsed.data;
  if (code === 'ABORT_ERR') return error;
  if (code === 'ELOOP') return elsewhere(path, 'it is a link');
  return new HoldfastError('tool_failed', `${path} ${MEANING[code] ?? `could not be used (${code})`}.`, {
    cause: error,
  });
}

/** The refusal of a file that is not the one its path names. */
export const elsewhere = (path: string, why: string): HoldfastError =>
  new HoldfastError('capability_denied', `${path} is not followed: ${why}.`);

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
