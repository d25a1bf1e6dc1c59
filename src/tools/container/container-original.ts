import { hash } from 'node:crypto';
import { join, relative } from 'node:path/posix';
import { HoldfastError } from '../../core/errors/errors.js';
import type { ToolEnvironment } from '../../core/tools/tool-environment.js';

export const MAX_FILE_BYTES = 1_048_576;

/**
 * Gives the file as it is when an edit begins, and where it really is. Its exit code 3: there is none; it names the nearest directory above
 * it that is there, and where that really is.
 */
const ORIGINAL = `
if ! [ -e "$1" ] && ! [ -L "$1" ]; then
  above=$(dirname "$1")
  while ! [ -d "$above" ]; do
    if [ -e "$above" ] || [ -L "$above" ]; then exit 4; fi
    above=$(dirname "$above")
  done
  printf %s "$above" && readlink -f "$above" >&2
  exit 3
fi
[ -f "$1" ] || exit 4
exec 3<"$1" && readlink /proc/self/fd/3 >&2 && cat <&3
`;

export interface Original {
  /** Where it really is, or would be. A directory above it may be missing where there is no file. */
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
  const found = stderr.text.replace(/\n$/, '');
  if (exitCode === 3) return { path: join(found, relative(stdout.text, path)), text: null };
  if (exitCode !== 0) throw notEdited(path, 'it is no file that can be read');
  if (stdout.omittedBytes > 0) throw notEdited(path, `it is larger than ${MAX_FILE_BYTES} bytes`);
  const { text } = stdout;
  if (text.includes('\0') || !(await isWhole(environment, found, text)))
    throw notEdited(path, 'it is not text in UTF-8');
  return { path: found, text };
}

/** Whether the bytes of a file are those of its text: U+FFFD stands in the file, or for bytes that are no text. */
async function isWhole(environment: ToolEnvironment, path: string, text: string): Promise<boolean> {
  if (!text.includes('\uFFFD')) return true;
  const { exitCode, stdout } = await environment.run(['sh', '-c', 'sha256sum <"$1"', 'sh', path], {});
  return exitCode === 0 && stdout.text.startsWith(`${hash('sha256', text, 'hex')} `);
}

export const notEdited = (path: string, why: string): HoldfastError =>
  new HoldfastError('file_unwritable', `${path} cannot be edited: ${why}.`);
