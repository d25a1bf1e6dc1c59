import { createHash } from 'node:crypto';
import { extname } from 'node:path/posix';
import { z } from 'zod';
import type { ToolContext } from '../../core/tools/tool.js';
import { withoutKnownSecrets } from '../../models/secrets/known-secrets.js';
import { notEdited, type Original, readOriginal } from '../container/container-original.js';
import { containerPath } from '../container/container-path.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { fileWindow, linesOf, windowAt } from './file-window.js';
import { checkerOf, isJsonText, PARSES } from './parse-check.js';

/** An argument of a command has at most 128 KiB. */
const MAX_TEXT_BYTES = 100_000;
const TIMEOUT_SECONDS = 60;
const SAID_BYTES = 2000;

/**
 * Puts a text in the place of some bytes of a file, all or nothing. Arguments: path, draft, checker, bytes before, first byte after (from 1),
 * SHA-256 that the file must have (none: no file), text. Who makes the draft may edit: of two at once from the same file one is refused. Its
 * exit code 4: nothing can be written there; 5: the file is another one by now; 6: it is being edited; 9: it parsed, and would not any more.
 */
const SPLICE = `
${PARSES}
path=$1 draft=$2 checker=$3 before=$4 after=$5 digest=$6 text=$7
( set -C; : >"$draft" ) 2>/dev/null || { [ -e "$draft" ] && exit 6; exit 4; }
trap 'rm -f "$draft"' EXIT
source=/dev/null found=none
if [ -e "$path" ] || [ -L "$path" ]; then
  source=$path found=$(sha256sum <"$path" | head -c 64)
  chmod "$(stat -c %a "$path")" "$draft" 2>/dev/null
fi
[ "$found" = "$digest" ] || exit 5
{ head -c "$before" "$source" && printf '%s' "$text" && tail -c "+$after" "$source"; } >"$draft" || exit 4
if [ -n "$checker" ] && ! parses "$checker" "$draft" >/dev/null; then
  parses "$checker" "$path" >/dev/null 2>&1 && exit 9
  echo "It does not parse."
fi
mv -f "$draft" "$path"
`;

const path = containerPath.describe('Absolute path of the file.');
const output = fileWindow.extend({ note: z.string().optional() });
const text = z.string().refine((value) => Buffer.byteLength(value) <= MAX_TEXT_BYTES && !value.includes('\0'), {
  error: `has more than ${MAX_TEXT_BYTES} bytes, or NUL`,
});

interface Splice {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

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
  { environment, require }: ToolContext,
  file: string,
  { path: real, text: before }: Original,
  { from, to, text: lines }: Splice,
  line: number,
  size: number,
): Promise<z.infer<typeof output>> {
  require(`container:write:${real}`);
  require(`container:read:${real}`);
  const original = before ?? '';
  const edited = original.slice(0, from) + lines + original.slice(to);
  if (file.endsWith('.json') && !isJsonText(edited) && isJsonText(original))
    throw notEdited(file, 'it is JSON, and would not be any more');
  const bytesTo = (at: number): number => Buffer.byteLength(original.slice(0, at));
  const digest = before === null ? 'none' : createHash('sha256').update(before).digest('hex');
  const draft = `${real.slice(0, real.lastIndexOf('/'))}/.${draftName(real, digest)}${extname(real)}`;
  const bytes = [String(bytesTo(from)), String(bytesTo(to) + 1)];
  const argv = ['sh', '-c', SPLICE, 'sh', real, draft, checkerOf(real), ...bytes, digest, lines];
  const bounds = { timeoutSeconds: TIMEOUT_SECONDS, maxOutputBytes: SAID_BYTES };
  const { exitCode, stdout, stderr } = await environment.run(argv, bounds);
  const said = withoutKnownSecrets(stderr.text).replaceAll(draft, file).trim().toWellFormed();
  if (exitCode === 6) throw notEdited(file, `another call is editing it; if none is, remove ${draft}`);
  if (exitCode === 5) throw notEdited(file, 'it was changed meanwhile; open it again');
  if (exitCode === 9) throw notEdited(file, `it would not parse any more, and is as it was. ${said}`);
  if (exitCode === 4) throw notEdited(file, 'nothing can be written there');
  if (exitCode !== 0) throw notEdited(file, said === '' ? `the program for it ended with ${exitCode}` : said);
  const note = stdout.text.trim();
  return { ...windowAt(file, withoutKnownSecrets(edited), line, size), ...(note === '' ? {} : { note }) };
}

/** Of the same file as it is, there is one draft. */
const draftName = (path: string, digest: string): string =>
  `edit-${createHash('sha256').update(`${path}\n${digest}`).digest('hex').slice(0, 16)}`;
