import { basename, join } from 'node:path/posix';
import { HoldfastError } from '../../core/errors/errors.js';
import type { ToolEnvironment } from '../../core/tools/tool-environment.js';

export const MAX_FILE_BYTES = 1_048_576;

/** Gives the file as it is when an edit begins, and where it really is. Its exit code 3: there is none, and its directory is there. */
const ORIGINAL = `
[ -e "$1" ] || [ -L "$1" ] || { readlink -f "$(dirname "$1")" >&2; exit 3; }
[ -f "$1" ] || exit 4
exec 3<"$1" && readlink /proc/self/fd/3 >&2 && cat <&3
`;

export interface Original {
  /** Where it really is, or would be. */
  readonly path: string;
  /** Null: there is no such file. */
  readonly text: string | null;
}

/**
 * Reads the file that is to be edited. As a command its output is recorded: a second execution of a call reads what the first one read.
 * Throws `file_unwritable` for what is no text of at most a mebibyte.
 */
export async function readOriginal(environment: ToolEnvironment, path: string): Promise<Original> {
  const { exitCode, stdout, stderr } = await environment.run(['sh', '-c', ORIGINAL, 'sh', path], {
    maxOutputBytes: MAX_FILE_BYTES,
  });
  const found = stderr.text.trimEnd();
  if (exitCode === 3) return { path: join(found, basename(path)), text: null };
  if (exitCode !== 0) throw notEdited(path, 'it is no file that can be read');
  if (stdout.omittedBytes > 0) throw notEdited(path, `it is larger than ${MAX_FILE_BYTES} bytes`);
  if (stdout.text.includes('\uFFFD') || stdout.text.includes('\0')) throw notEdited(path, 'it is not text in UTF-8');
  return { path: found, text: stdout.text };
}

export const notEdited = (path: string, why: string): HoldfastError =>
  new HoldfastError('file_unwritable', `${path} cannot be edited: ${why}.`);
