import { basename, join } from 'node:path/posix';
import { z } from 'zod';
import { HoldfastError } from '../core/errors.js';
import { containerPath } from './container-path.js';
import { type DeclaredTool, defineTool } from './define-tool.js';

const MAX_FILE_BYTES = 1_048_576;

/** Gives the file as it is when the edit begins, and where it really is. Its exit code 3: there is none, and its directory is there. */
const ORIGINAL = `
[ -e "$1" ] || [ -L "$1" ] || { readlink -f "$(dirname "$1")" >&2; exit 3; }
[ -f "$1" ] || exit 4
exec 3<"$1" && readlink /proc/self/fd/3 >&2 && cat <&3
`;

/**
 * `edit`: replaces a text that stands once in a file of the container, or writes a new file. Needs `container:write:<path>` for the
 * path that is asked for and for where it really leads. Executed again after a crash it does the same to the same original.
 */
export function containerEditTool(): DeclaredTool {
  return defineTool({
    name: 'edit',
    description:
      'Replaces a text that stands exactly once in a file. With an empty oldText it makes a new file, whose directory must exist.',
    input: z.object({
      path: containerPath.describe('Absolute path of the file.'),
      oldText: z.string().max(MAX_FILE_BYTES).describe('What is replaced, exactly as it stands. Empty: a new file.'),
      newText: z.string().max(MAX_FILE_BYTES).describe('What stands there then.'),
    }),
    output: z.object({ sizeBytes: z.int() }),
    capabilities: ({ path }) => [`container:write:${path}`],
    effect: 'idempotent',
    timeoutMs: 600_000,
    execute: async ({ path, oldText, newText }, { environment, require }) => {
      // As a command its output is recorded: a second execution reads what the first one read.
      const original = await environment.run(['sh', '-c', ORIGINAL, 'sh', path], { maxOutputBytes: MAX_FILE_BYTES });
      const isNew = original.exitCode === 3;
      if (oldText === '' && !isNew) throw refuse(path, 'it is there already; say in oldText what is to be replaced');
      if (oldText !== '' && isNew) throw refuse(path, 'there is no such file');
      if (original.exitCode !== 0 && !isNew) throw refuse(path, 'it is no file that can be read');
      const found = original.stderr.text.trimEnd();
      const real = isNew ? join(found, basename(path)) : found;
      require(`container:write:${real}`);
      const edited = Buffer.from(isNew ? newText : replaced(path, original.stdout, oldText, newText));
      await environment.write(real, edited);
      return { sizeBytes: edited.length };
    },
  });
}

function replaced(
  path: string,
  { text, omittedBytes }: { readonly text: string; readonly omittedBytes: number },
  oldText: string,
  newText: string,
): string {
  if (omittedBytes > 0) throw refuse(path, `it is larger than ${MAX_FILE_BYTES} bytes`);
  if (text.includes('\uFFFD') || text.includes('\0')) throw refuse(path, 'it is not text in UTF-8');
  const at = text.indexOf(oldText);
  if (at < 0) throw refuse(path, 'oldText does not stand in it');
  if (text.indexOf(oldText, at + 1) >= 0) throw refuse(path, 'oldText stands in it more than once');
  return text.slice(0, at) + newText + text.slice(at + oldText.length);
}

const refuse = (path: string, why: string): HoldfastError =>
  new HoldfastError('file_unwritable', `${path} cannot be edited: ${why}.`);
