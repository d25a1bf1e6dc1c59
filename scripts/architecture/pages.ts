import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './sources.js';

const WORDS_MOST = 600;

const markdownIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder)).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(join(ROOT, path)).isDirectory()) return markdownIn(path);
    return path.endsWith('.md') ? [path] : [];
  });

/** The words of a page that a person wrote: no generated part, no table, no code. */
const words = (page: string): number =>
  page
    .replaceAll(/<!-- generated: [\s\S]*?<!-- \/generated -->/g, '')
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .replaceAll(/^\|.*$/gm, '')
    .split(/\s+/)
    .filter(Boolean).length;

/** Pages whose prose is longer than a concept should be, the longest first. */
export const longPages = (): string[] =>
  markdownIn('docs')
    .map((path) => ({ path, count: words(readFileSync(join(ROOT, path), 'utf8')) }))
    .filter(({ count }) => count > WORDS_MOST)
    .toSorted((a, b) => b.count - a.count)
    .map(({ path, count }) => `${path} ${count}`);
