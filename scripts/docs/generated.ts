import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { BLOCKS } from './blocks.js';

/**
 * Reference pages are written from the code: a page names a block between two comments, and `npm run docs` fills it. What
 * is outside of the comments is written by hand. A test compares each page with what the program would write.
 */
export const ROOT = join(import.meta.dirname, '../..');

const BLOCK = /<!-- generated: ([\w-]+) -->\n[\s\S]*?<!-- \/generated -->/g;

const withoutTrailingSpace = (text: string): string => text.replaceAll(/[ \t]+$/gm, '').trim();

/** Returns the page with each of its blocks filled. Throws where a page names a block that does not exist. */
export const filled = (page: string): string =>
  page.replaceAll(BLOCK, (_, name: string) => {
    const block = BLOCKS[name];
    if (block === undefined) throw new Error(`No block "${name}"; expected one of ${Object.keys(BLOCKS).join(', ')}.`);
    return `<!-- generated: ${name} -->\n\n${withoutTrailingSpace(block())}\n\n<!-- /generated -->`;
  });

const markdownIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder)).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(join(ROOT, path)).isDirectory()) return markdownIn(path);
    return path.endsWith('.md') ? [path] : [];
  });

/** Paths of the pages that have a block, relative to the root. */
export const generatedPages = (): string[] =>
  markdownIn('docs').filter((path) => readFileSync(join(ROOT, path), 'utf8').search(BLOCK) >= 0);
