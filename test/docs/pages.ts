import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Reads the pages of the documentation, so that tests can hold them against the code. */

export const ROOT = join(import.meta.dirname, '../..');

export const pageText = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const NOT_OURS = new Set(['node_modules', 'dist', '.git', '.holdfast']);

/** Paths of every Markdown file of the repository, relative to its root. */
export function pages(folder = ''): string[] {
  return readdirSync(join(ROOT, folder)).flatMap((name) => {
    if (NOT_OURS.has(name)) return [];
    const path = join(folder, name);
    if (statSync(join(ROOT, path)).isDirectory()) return pages(path);
    return name.endsWith('.md') ? [path] : [];
  });
}

/** The part of a page under a heading, up to the next heading of the same level. Throws when there is none. */
export function section(text: string, heading: string): string {
  const level = heading.slice(0, heading.indexOf(' '));
  const start = text.indexOf(`\n${heading}\n`);
  if (start < 0) throw new Error(`There is no heading "${heading}".`);
  const rest = text.slice(start + heading.length + 2);
  const end = rest.search(new RegExp(`^${level} `, 'm'));
  return end < 0 ? rest : rest.slice(0, end);
}

/** The cells of every row whose first cell is in backticks, as written. */
export const rows = (text: string): string[][] =>
  text.split('\n').flatMap((line) => {
    if (!/^\| `/.test(line)) return [];
    return [
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('\\|', '|')),
    ];
  });

/** What stands in backticks, in order. */
export const codes = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

/** What the first cell of each row names. */
export const names = (text: string): string[] => rows(text).map(([cell = '']) => codes(cell)[0] ?? cell);
