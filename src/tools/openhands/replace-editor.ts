import { createHash } from 'node:crypto';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import type { ToolContext } from '../../core/tools/tool.js';
import { withoutKnownSecrets } from '../../models/secrets/known-secrets.js';
import { MAX_FILE_BYTES, notEdited, type Original, readOriginal } from '../container/container-original.js';
import { containerPath, mayRead, textOf } from '../container/container-path.js';
import { MAX_TEXT_BYTES, spliceBetween, spliceFile } from '../container/splice-file.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { SESSION_DIR } from './shell-session.js';

/** `str_replace_editor` of OpenHands: looks at files and directories, makes and edits files, and takes edits back. */

const VIEWED_BYTES = 4 * 1024 * 1024;
const VIEWED_CHARS = 65_536;
const LONGEST_LINE = 2000;
const AROUND = 4;
const LISTED_BYTES = 65_536;
const UNDO_DEPTH = 20;

/** Two levels of a directory without what is hidden, where it really is in the first line. */
const LIST = `
real=$(readlink -f "$1") && [ -d "$real" ] || exit 3
printf '%s\\n' "$real"
cd "$real" && find . -mindepth 1 -maxdepth 2 -name '.?*' -prune -o -mindepth 1 -maxdepth 2 -print 2>/dev/null | LC_ALL=C sort
exit 0
`;

/** Puts a copy of a file on its stack. Arguments: stack, file. */
const PUSH = `
umask 077
mkdir -p "$1" && cd "$1" || exit 4
last=$(ls | sort -n | tail -n 1)
next=$((\${last:-0} + 1))
cp -- "$2" "$next" || exit 4
rm -f -- "$((next - ${UNDO_DEPTH}))"
`;
/** Shows what is on top of a stack. Its exit code 3: nothing is. */
const TOP = `
cd "$1" 2>/dev/null || exit 3
last=$(ls | sort -n | tail -n 1)
[ -n "$last" ] || exit 3
cat -- "$last"
`;
/** Takes away what is on top of a stack. */
const POP = `
cd "$1" 2>/dev/null || exit 0
last=$(ls | sort -n | tail -n 1)
[ -z "$last" ] || rm -f -- "$last"
`;

const text = z
  .string()
  .max(MAX_FILE_BYTES)
  .regex(/^[^\0]*$/, 'has a NUL character');
const input = z.strictObject({
  command: z.enum(['view', 'create', 'str_replace', 'insert', 'undo_edit']),
  path: containerPath.describe('Absolute path of a file, or of a directory to view.'),
  file_text: text.optional().describe('What is in a file that is created.'),
  old_str: text.optional().describe('What str_replace replaces: it must stand exactly once in the file.'),
  new_str: text.optional().describe('What stands there then; what insert inserts.'),
  insert_line: z.int().min(0).optional().describe('insert puts its text behind this line; 0: at the beginning.'),
  view_range: z.array(z.int()).length(2).optional().describe('First and last line to view; -1: up to the end.'),
});
type Asked = z.infer<typeof input>;

export const editorTool = (): DeclaredTool =>
  defineTool({
    untrusted: 'container',
    name: 'str_replace_editor',
    description:
      'Views, creates and edits text files. view shows a file with line numbers, or two levels of a directory. create makes a file that is not there. str_replace replaces a text that stands exactly once. insert puts lines behind a line. undo_edit takes back the last edit of a file.',
    input,
    output: z.string(),
    capabilities: ({ command, path }) => [
      ...(command === 'view' ? [] : [`container:write:${path}`]),
      `container:read:${path}`,
    ],
    effect: 'unsafe',
    onUnknownEffect: 'rerun',
    timeoutMs: 600_000,
    maxOutputBytes: VIEWED_CHARS * 8,
    execute: async (asked, context) => (asked.command === 'view' ? view(asked, context) : edit(asked, context)),
  });

async function view({ path, view_range: range }: Asked, context: ToolContext): Promise<string> {
  const { environment, require } = context;
  const listed = await environment.run(['sh', '-c', LIST, 'sh', path], { maxOutputBytes: LISTED_BYTES });
  if (listed.exitCode === 0) return listing(path, listed.stdout, context);
  const { path: real, bytes } = await environment.read(path, VIEWED_BYTES);
  require(`container:read:${real}`);
  const content = textOf(bytes);
  if (content === null) throw new HoldfastError('file_unreadable', `${path} is not text in UTF-8.`);
  const lines = linesOf(withoutKnownSecrets(content));
  const [first, last] = range === undefined ? [1, lines.length] : [range[0] ?? 1, range[1] ?? -1];
  const end = last === -1 ? lines.length : last;
  if (range !== undefined && (first < 1 || first > Math.max(1, lines.length) || end < first || end > lines.length))
    throw new HoldfastError(
      'file_unreadable',
      `${path} has ${lines.length} lines; view_range [${first}, ${last}] is not within them.`,
    );
  return `${path}, lines ${lines.length === 0 ? 0 : first} to ${end} of ${lines.length}:\n${numbered(lines, first, end)}`;
}

function listing(
  path: string,
  { text: found, omittedBytes }: { readonly text: string; readonly omittedBytes: number },
  context: ToolContext,
): string {
  const [real = '', ...names] = found.split('\n');
  context.require(`container:read:${real}`);
  // The last name may be cut off.
  if (omittedBytes > 0) names.pop();
  const shown = names.filter((name) => name.startsWith('./') && mayRead(context, `${real}/${name.slice(2)}`));
  const more = omittedBytes > 0 ? '\n(There is more.)' : '';
  return `${path}, two levels without hidden files:\n${shown.map((name) => `${path === '/' ? '' : path}/${name.slice(2)}`).join('\n')}${more}`;
}

function numbered(lines: readonly string[], first: number, last: number): string {
  const shown: string[] = [];
  let chars = 0;
  for (const [index, line] of lines.slice(first - 1, last).entries()) {
    const cut = `${String(first + index).padStart(6)}\t${line.slice(0, LONGEST_LINE).toWellFormed()}`;
    chars += cut.length + 1;
    if (chars > VIEWED_CHARS) return `${shown.join('\n')}\n(Clipped before line ${first + index}: use view_range.)`;
    shown.push(cut);
  }
  return shown.join('\n');
}

function linesOf(content: string): string[] {
  const lines = content.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

async function edit(asked: Asked, context: ToolContext): Promise<string> {
  const { environment, require } = context;
  const { path, command } = asked;
  const original = await readOriginal(environment, path);
  require(`container:write:${original.path}`);
  require(`container:read:${original.path}`);
  const stack = `${SESSION_DIR}/undo/${createHash('sha256').update(original.path).digest('hex')}`;
  const { now, line } =
    command === 'undo_edit' ? await taken(path, stack, original, context) : editedBy(asked, original);
  if (Buffer.byteLength(now) > MAX_FILE_BYTES) throw notEdited(path, `it would be larger than ${MAX_FILE_BYTES} bytes`);
  const change = spliceBetween(original.text ?? '', now);
  if (Buffer.byteLength(change.text) > MAX_TEXT_BYTES)
    throw notEdited(path, `an edit changes at most ${MAX_TEXT_BYTES} bytes at once`);
  if (original.text !== null && command !== 'undo_edit') {
    const pushed = await environment.run(['sh', '-c', PUSH, 'sh', stack, original.path]);
    if (pushed.exitCode !== 0) throw notEdited(path, 'no copy of it can be kept to take the edit back');
  }
  try {
    await spliceFile(context, path, original, change, '');
  } catch (error) {
    if (original.text !== null && command !== 'undo_edit') await environment.run(['sh', '-c', POP, 'sh', stack]);
    throw error;
  }
  if (command === 'undo_edit') await environment.run(['sh', '-c', POP, 'sh', stack]);
  if (command === 'create') return `${path} was created.`;
  const lines = linesOf(withoutKnownSecrets(now));
  const first = Math.max(1, line - AROUND);
  const last = Math.min(lines.length, line + AROUND + (asked.new_str ?? '').split('\n').length);
  const done = command === 'undo_edit' ? `The last edit of ${path} was taken back.` : `${path} was edited.`;
  return `${done} Lines ${first} to ${last} of ${lines.length}:\n${numbered(lines, first, last)}`;
}

interface EditedText {
  readonly now: string;
  /** Where it was edited. */
  readonly line: number;
}

async function taken(
  path: string,
  stack: string,
  { text: content }: Original,
  { environment }: ToolContext,
): Promise<EditedText> {
  const { exitCode, stdout } = await environment.run(['sh', '-c', TOP, 'sh', stack], {
    maxOutputBytes: MAX_FILE_BYTES,
  });
  if (exitCode !== 0 || content === null) throw notEdited(path, 'there is no edit of it to take back');
  const { from } = spliceBetween(content, stdout.text);
  return { now: stdout.text, line: lineAt(stdout.text, from) };
}

const lineAt = (content: string, at: number): number => content.slice(0, at).split('\n').length;

function editedBy(asked: Asked, { text: content }: Original): EditedText {
  const { command, path, file_text: whole, old_str: old, new_str: by, insert_line: behind } = asked;
  if (command === 'create') {
    if (whole === undefined) throw notEdited(path, 'create needs file_text');
    if (content !== null) throw notEdited(path, 'it is there already; use str_replace or insert');
    return { now: whole, line: 1 };
  }
  if (content === null) throw notEdited(path, 'there is no such file; use create');
  if (command === 'insert') {
    if (behind === undefined || by === undefined) throw notEdited(path, 'insert needs insert_line and new_str');
    const lines = linesOf(content);
    if (behind > lines.length) throw notEdited(path, `it has ${lines.length} lines; there is no line ${behind}`);
    const now = [...lines.slice(0, behind), ...linesOf(by), ...lines.slice(behind)].map((one) => `${one}\n`).join('');
    return { now, line: behind + 1 };
  }
  if (old === undefined || old === '') throw notEdited(path, 'str_replace needs old_str');
  if (old === by) throw notEdited(path, 'old_str and new_str are the same');
  const at = content.indexOf(old);
  if (at < 0) throw notEdited(path, 'old_str does not stand in it; it must be exactly as in the file');
  const again = content.indexOf(old, at + 1);
  if (again >= 0)
    throw notEdited(
      path,
      `old_str stands in it more than once, in lines ${lineAt(content, at)} and ${lineAt(content, again)}; give more of the lines around it`,
    );
  return { now: content.slice(0, at) + (by ?? '') + content.slice(at + old.length), line: lineAt(content, at) };
}
