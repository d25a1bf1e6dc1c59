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
