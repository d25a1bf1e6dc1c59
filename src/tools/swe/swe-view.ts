import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import type { ToolContext } from '../../core/tools/tool.js';
import { withoutKnownSecrets } from '../../models/secrets/known-secrets.js';
import { containerPath, textOf } from '../container/container-path.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { fileWindow, linesOf, windowAt, windowBeside, windowFrom } from './file-window.js';

const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MATCHES = 100;
const LONGEST_MATCH = 300;

const path = containerPath.describe('Absolute path of the file.');
const line = z.int().min(1);

/** A text file of the container, where the run may read it. */
async function readText({ environment, require }: ToolContext, file: string): Promise<string> {
  const { path: real, bytes } = await environment.read(file, MAX_FILE_BYTES);
  require(`container:read:${real}`);
  const text = textOf(bytes);
  if (text === null) throw new HoldfastError('file_unreadable', `${file} is not text in UTF-8.`);
  return withoutKnownSecrets(text);
}

const reads = ({ path: file }: { readonly path: string }): string[] => [`container:read:${file}`];

/** The three ways to look at a file through a window of so many lines. Where the window stands is an argument of each call. */
export const viewTools = (size: number): DeclaredTool[] => [
  defineTool({
    untrusted: 'container',
    name: 'open_file',
    description: `Shows ${size} lines of a text file, from its beginning or around a line.`,
    input: z.object({
      path,
      line: line.optional().describe('The line to look at; the beginning of the file without it.'),
    }),
    ...{ output: fileWindow, capabilities: reads, effect: 'pure' },
    execute: async ({ path: file, line: at = 1 }, context) => windowAt(file, await readText(context, file), at, size),
  }),
  defineTool({
    untrusted: 'container',
    name: 'scroll',
    description: `Shows the ${size} lines after or before those of a window.`,
    input: z.object({
      path,
      firstLine: line.describe('The first line of the window that was shown.'),
      direction: z.enum(['down', 'up']),
    }),
    ...{ output: fileWindow, capabilities: reads, effect: 'pure' },
    execute: async ({ path: file, ...from }, context) => windowBeside(file, await readText(context, file), from, size),
  }),
  defineTool({
    untrusted: 'container',
    name: 'goto_line',
    description: `Shows ${size} lines of a text file from a line on.`,
    input: z.object({ path, line }),
    ...{ output: fileWindow, capabilities: reads, effect: 'pure' },
    execute: async ({ path: file, line: at }, context) => {
      const text = await readText(context, file);
      const { length } = linesOf(text);
      if (at > length)
        throw new HoldfastError('file_unreadable', `${file} has ${length} lines; there is no line ${at}.`);
      return windowFrom(file, text, at, size);
    },
  }),
  defineTool({
    untrusted: 'container',
    name: 'search_file',
    description: `Finds the lines of a file that hold a text, as it is written. At most ${MATCHES} are shown.`,
    input: z.object({ path, text: z.string().min(1).max(1000) }),
    output: z.object({
      path: z.string(),
      total: z.int(),
      matches: z.array(z.object({ line: z.int(), text: z.string() })),
    }),
    ...{ capabilities: reads, effect: 'pure' },
    execute: async ({ path: file, text }, context) => {
      const found = linesOf(await readText(context, file)).flatMap((one, index) =>
        one.includes(text) ? [{ line: index + 1, text: one.slice(0, LONGEST_MATCH).toWellFormed() }] : [],
      );
      return { path: file, total: found.length, matches: found.slice(0, MATCHES) };
    },
  }),
];
