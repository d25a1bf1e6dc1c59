import { z } from 'zod';

const LONGEST_LINE = 1000;
const MAX_CHARS = 65_536;
/** Lines of a window that the next one shows again. */
const OVERLAP = 2;

/** Some lines of a file, by their numbers: the first line is 1. What a window shows is in the result of the call, and nowhere else. */
export const fileWindow = z.object({
  path: z.string(),
  firstLine: z.int(),
  lastLine: z.int(),
  totalLines: z.int(),
  lines: z.array(z.string()),
});
export type FileWindow = z.infer<typeof fileWindow>;

export const linesOf = (text: string): string[] => {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
};

/** The window that begins with a line, or with the first one from which it is full. It ends early where lines are very long. */
export function windowFrom(path: string, text: string, firstLine: number, size: number): FileWindow {
  const all = linesOf(text);
  const first = Math.max(1, Math.min(firstLine, all.length - size + 1));
  const lines: string[] = [];
  let chars = 0;
  for (const line of all.slice(first - 1, first - 1 + size)) {
    const cut = cutLine(line);
    chars += cut.length;
    if (lines.length > 0 && chars > MAX_CHARS) break;
    lines.push(cut);
  }
  return {
    path,
    firstLine: lines.length === 0 ? 0 : first,
    lastLine: first - 1 + lines.length,
    totalLines: all.length,
    lines,
  };
}

/** The window in which a line stands in the upper part, with some lines before it. */
export const windowAt = (path: string, text: string, line: number, size: number): FileWindow =>
  windowFrom(path, text, line - Math.floor(size / 6), size);

/** The window after or before one that begins with a line. */
export const windowBeside = (
  path: string,
  text: string,
  { firstLine, direction }: { readonly firstLine: number; readonly direction: 'up' | 'down' },
  size: number,
): FileWindow => {
  const far = Math.max(1, size - OVERLAP);
  return windowFrom(path, text, direction === 'down' ? firstLine + far : firstLine - far, size);
};

const cutLine = (line: string): string =>
  line.length <= LONGEST_LINE
    ? line.toWellFormed()
    : `${line.slice(0, LONGEST_LINE).toWellFormed()} (${line.length - LONGEST_LINE} more characters)`;

/** A window as a model reads it. */
export function windowText({ path, firstLine, lastLine, totalLines, lines }: FileWindow): string {
  if (totalLines === 0) return `[${path} is empty]`;
  const above = firstLine > 1 ? [`(${firstLine - 1} lines above)`] : [];
  const below = lastLine < totalLines ? [`(${totalLines - lastLine} lines below)`] : [];
  const shown = lines.map((line, index) => `${firstLine + index}: ${line}`);
  return [`[${path}, lines ${firstLine} to ${lastLine} of ${totalLines}]`, ...above, ...shown, ...below].join('\n');
}
