import { z } from 'zod';
import type { ToolContext } from '../../core/tools/tool.js';
import { withoutKnownSecrets } from '../../models/secrets/known-secrets.js';
import { notEdited, type Original, readOriginal } from '../container/container-original.js';
import { containerPath } from '../container/container-path.js';
import { checkerOf, isJsonText } from '../container/parse-check.js';
import { MAX_TEXT_BYTES, type Splice, spliceFile } from '../container/splice-file.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { fileWindow, linesOf, windowAt } from './file-window.js';

const path = containerPath.describe('Absolute path of the file.');
const output = fileWindow.extend({ note: z.string().optional() });
const text = z.string().refine((value) => Buffer.byteLength(value) <= MAX_TEXT_BYTES && !value.includes('\0'), {
  error: `has more than ${MAX_TEXT_BYTES} bytes, or NUL`,
});

/**
 * Edits lines of files, and makes files, in the container. Needs `container:write:<path>` and, since it shows the window after the edit,
 * `container:read:<path>`. An edit happens once: after a crash its outcome is collected. Where the program for
 * it is there, an edit that would break the syntax of a file is refused.
 */
export const editTools = (size: number): DeclaredTool[] => [
  defineTool({
    untrusted: 'container',
    name: 'edit_lines',
    description:
      'Replaces lines of a text file by others, and shows the file there. With lastLine one below firstLine it inserts before firstLine; an empty text deletes. Line numbers are those of the last window: make one edit of a file at a time.',
    input: z.object({
      path,
      firstLine: z.int().min(1),
      lastLine: z.int().min(0),
      text: text.describe('The new lines, with their indentation.'),
    }),
    ...{ output, effect: 'unsafe', onUnknownEffect: 'rerun', timeoutMs: 600_000 },
    capabilities: ({ path: file }) => [`container:write:${file}`, `container:read:${file}`],
    execute: async ({ path: file, firstLine, lastLine, text: lines }, context) => {
      const original = await readOriginal(context.environment, file);
      if (original.text === null) throw notEdited(file, 'there is no such file; make it with create_file');
      return splice(context, file, original, placeOf(file, original.text, firstLine, lastLine, lines), firstLine, size);
    },
  }),
  defineTool({
    untrusted: 'container',
    name: 'create_file',
    description: 'Makes a new text file. Its directory must exist.',
    input: z.object({ path, text: text.describe('What is in it.') }),
    ...{ output, effect: 'unsafe', onUnknownEffect: 'rerun', timeoutMs: 600_000 },
    capabilities: ({ path: file }) => [`container:write:${file}`, `container:read:${file}`],
    execute: async ({ path: file, text: whole }, context) => {
      const original = await readOriginal(context.environment, file);
      if (original.text !== null) throw notEdited(file, 'it is there already; edit it with edit_lines');
      return splice(context, file, original, { from: 0, to: 0, text: whole }, 1, size);
    },
  }),
];

/** Which bytes are replaced by what. */
function placeOf(file: string, original: string, firstLine: number, lastLine: number, lines: string): Splice {
  const all = linesOf(original);
  if (lastLine < firstLine - 1) throw notEdited(file, `line ${lastLine} is not behind line ${firstLine}`);
  if (firstLine > all.length + 1 || lastLine > all.length)
    throw notEdited(file, `it has ${all.length} lines, and lines ${firstLine} to ${lastLine} are not among them`);
  const starts = [0];
  for (let at = original.indexOf('\n'); at >= 0; at = original.indexOf('\n', at + 1)) starts.push(at + 1);
  const startOf = (line: number): number => starts[line - 1] ?? original.length;
  const [from, to] = [startOf(firstLine), startOf(lastLine + 1)];
  const isOpen = from > 0 && original[from - 1] !== '\n' && lines !== '';
  return { from, to, text: `${isOpen ? '\n' : ''}${lines === '' || lines.endsWith('\n') ? lines : `${lines}\n`}` };
}

async function splice(
  context: ToolContext,
  file: string,
  original: Original,
  change: Splice,
  line: number,
  size: number,
): Promise<z.infer<typeof output>> {
  const { path: real, text: before } = original;
  context.require(`container:write:${real}`);
  context.require(`container:read:${real}`);
  const edited = (before ?? '').slice(0, change.from) + change.text + (before ?? '').slice(change.to);
  if (file.endsWith('.json') && !isJsonText(edited) && isJsonText(before ?? ''))
    throw notEdited(file, 'it is JSON, and would not be any more');
  const note = await spliceFile(context, file, original, change, checkerOf(real));
  return { ...windowAt(file, withoutKnownSecrets(edited), line, size), ...(note === '' ? {} : { note }) };
}
