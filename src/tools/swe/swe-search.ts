import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import type { ToolContext } from '../../core/tools/tool.js';
import { shownOutput } from '../container/bash.js';
import { containerPath, mayRead } from '../container/container-path.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';

const FILES = 100;
const LINES = 200;
const LONGEST_LINE = 300;
const OUTPUT_BYTES = 131_072;
const TIMEOUT_SECONDS = 120;

/** Where the directory really is, in the first line, and the files in it that hold a text. Arguments: directory, text. */
const HOLDING = `
real=$(readlink -f "$1") && [ -d "$real" ] || exit 3
printf '%s\\n' "$real"
find "$real" -type f -exec grep -slF -e "$2" -- {} + 2>/dev/null
exit 0
`;
/** The same of files of a name. Arguments: directory, pattern of the name. */
const NAMED = `
real=$(readlink -f "$1") && [ -d "$real" ] || exit 3
printf '%s\\n' "$real"
find "$real" -type f -name "$2" 2>/dev/null
exit 0
`;
/** The lines of files that hold a text. Arguments: text, files. */
const SHOWN = `
text=$1
shift
grep -snF -e "$text" -- /dev/null "$@"
exit 0
`;

const directory = containerPath.describe('Absolute path of the directory.');
const reads = ({ path }: { readonly path: string }): string[] => [`container:read:${path}`];

interface Found {
  readonly files: readonly string[];
  /** Whether there are more than are given. */
  readonly more: boolean;
}

/** Files of a directory as a script gives them, without those that the run may not read. */
async function filesBy(script: string, path: string, sought: string, context: ToolContext): Promise<Found> {
  const bounds = { timeoutSeconds: TIMEOUT_SECONDS, maxOutputBytes: OUTPUT_BYTES };
  const { exitCode, timedOut, stdout } = await context.environment.run(
    ['sh', '-c', script, 'sh', path, sought],
    bounds,
  );
  if (timedOut) throw unreadable(path, `the search took longer than ${TIMEOUT_SECONDS} seconds; search less at once`);
  if (exitCode !== 0) throw unreadable(path, 'it is no directory');
  const [real = '', ...found] = stdout.text.split('\n');
  context.require(`container:read:${real}`);
  // The last name may be cut off.
  if (stdout.omittedBytes > 0) found.pop();
  const files = found.filter((file) => file !== '' && mayRead(context, file));
  return { files: files.sort().slice(0, FILES), more: files.length > FILES || stdout.omittedBytes > 0 };
}

const unreadable = (path: string, why: string): HoldfastError =>
  new HoldfastError('file_unreadable', `${path} cannot be searched: ${why}.`);

/** To find files by what they hold, and by their names. */
export const searchTools = (): DeclaredTool[] => [
  defineTool({
    untrusted: 'container',
    name: 'search_directory',
    description: `Finds the lines that hold a text, as it is written, in all files below a directory. At most ${FILES} files and ${LINES} lines are shown.`,
    input: z.object({
      path: directory,
      text: z
        .string()
        .min(1)
        .max(1000)
        .refine((text) => !/[\0\n]/.test(text), 'is more than a line'),
    }),
    output: z.object({ files: z.int(), more: z.boolean(), lines: z.array(z.string()) }),
    ...{ capabilities: reads, effect: 'pure' },
    timeoutMs: 300_000,
    execute: async ({ path, text }, context) => {
      const { files, more } = await filesBy(HOLDING, path, text, context);
      if (files.length === 0) return { files: 0, more, lines: [] };
      const { stdout } = await context.environment.run(['sh', '-c', SHOWN, 'sh', text, ...files], {
        ...{ timeoutSeconds: TIMEOUT_SECONDS, maxOutputBytes: OUTPUT_BYTES },
      });
      const found = shownOutput(stdout)
        .split('\n')
        .filter((line) => line !== '');
      const lines = found.slice(0, LINES).map((line) => line.slice(0, LONGEST_LINE).toWellFormed());
      return { files: files.length, more: more || found.length > LINES || stdout.omittedBytes > 0, lines };
    },
  }),
  defineTool({
    untrusted: 'container',
    name: 'find_file',
    description: `Finds files below a directory by their name, in which * and ? stand for any characters. At most ${FILES} are shown.`,
    input: z.object({
      path: directory,
      name: z
        .string()
        .min(1)
        .max(255)
        .refine((name) => !/[\0/]/.test(name), 'is no name of a file'),
    }),
    output: z.object({ files: z.array(z.string()), more: z.boolean() }),
    ...{ capabilities: reads, effect: 'pure' },
    timeoutMs: 300_000,
    execute: async ({ path, name }, context) => {
      const { files, more } = await filesBy(NAMED, path, name, context);
      return { files: [...files], more };
    },
  }),
];
