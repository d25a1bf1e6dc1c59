import { z } from 'zod';
import { plainText } from '../json.js';
import { sized } from '../limits/allowance.js';

/** Files of a task: those that an agent begins with, those of its tests, those of its solution. */

const PATH_LONGEST = 1024;
const FILES_MOST = 500;
/** Of one file, as it is written in a definition: base64 is longer than what it holds. */
const FILE_LONGEST = 2_097_152;

const isCharacterOfNone = (text: string): boolean => /\p{Cc}|\\/u.test(text);

/** What is wrong with a path below a directory; null: nothing. One that another reader could take for another file is refused. */
export function pathProblem(path: string): string | null {
  if (path === '' || path.length > PATH_LONGEST) return `is no path of 1 to ${PATH_LONGEST} characters`;
  if (path.startsWith('/')) return 'is absolute; paths are relative';
  if (plainText(path) !== path || isCharacterOfNone(path))
    return 'holds a control character, a backslash or half a character';
  const parts = path.split('/');
  if (parts.some((part) => part === '..' || part === '.')) return 'holds "." or ".."';
  if (parts.includes('')) return 'holds "//" or ends with "/"';
  if (parts.some((part) => Buffer.byteLength(part) > 255)) return 'holds a name of more than 255 bytes';
  return path.includes('{{') ? 'holds "{{": placeholders are filled in contents, not in paths' : null;
}

const safe = (text: string): boolean => plainText(text) === text;

export const taskText = (max: number) =>
  z.string().max(max).refine(safe, 'holds NUL or half a character; such content is written as base64');

const mode = z
  .string({ error: 'expected a text such as "755", in quotes' })
  .regex(/^0?[0-7]{3}$/, 'expected three octal digits, such as "755"')
  .default('644');

const bytes = z
  .string()
  .max(FILE_LONGEST)
  .regex(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/, {
    error: 'is no base64',
  });

const written = z.strictObject({ text: taskText(FILE_LONGEST), mode });
const encoded = z.strictObject({ base64: bytes, mode });

/** A text stands for `{ text }`. */
export const taskFile = z.union(
  [taskText(FILE_LONGEST).transform((text) => ({ text, mode: '644' })), written, encoded],
  { error: 'expected a text, { text, mode } or { base64, mode }' },
);
export type TaskFile = z.output<typeof taskFile>;
export type TaskFiles = Readonly<Record<string, TaskFile>>;

/** Files by their paths. No path is a directory of another. */
export const taskFiles = sized(FILES_MOST, z.record(z.string(), taskFile)).superRefine((files, context) => {
  const paths = Object.keys(files);
  const refuse = (path: string, message: string): void => context.addIssue({ code: 'custom', path: [path], message });
  for (const path of paths) {
    const problem = pathProblem(path);
    if (problem !== null) refuse(path, problem);
  }
  for (const path of clashes(paths)) refuse(path, 'is a file, and a directory of another one');
});

/** Paths that are a file and a directory of another file. In order, what is in a directory comes at once behind its name and a slash. */
export function clashes(paths: readonly string[]): readonly string[] {
  const behind = [
    ...paths.map((path) => ({ path, file: true })),
    ...paths.map((path) => ({ path: `${path}/`, file: false })),
  ];
  behind.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  const directories = new Set<string>();
  const open: string[] = [];
  for (const { path, file } of behind) {
    while (open.length > 0 && !path.startsWith(open.at(-1) ?? '')) open.pop();
    const directory = open.at(-1);
    if (file && directory !== undefined) directories.add(directory.slice(0, -1));
    else if (!file) open.push(path);
  }
  return paths.filter((path) => directories.has(path));
}

/** The bytes of a file, as they are written. */
export const bytesOf = (file: TaskFile): Buffer =>
  'text' in file ? Buffer.from(file.text, 'utf8') : Buffer.from(file.base64, 'base64');

/** A file of bytes: as text where it is one. */
export function fileOf(content: Buffer, executable = false): TaskFile {
  const text = content.toString('utf8');
  const mode = executable ? '755' : '644';
  return safe(text) && Buffer.from(text, 'utf8').equals(content)
    ? { text, mode }
    : { base64: content.toString('base64'), mode };
}
