import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

/**
 * Copies the pages into the folder that the generator reads. Paths stay those of the repository, but a `README.md` becomes the
 * `index.md` of its folder. Files that pages link to are copied beside them.
 */

const SINGLE = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'workflows/sdk/README.md'];
const FOLDERS = ['docs', 'examples'];

export interface StagedPages {
  /** Sources of the pages, relative to the repository. */
  readonly pages: readonly string[];
  /** Links that lead to no file of the repository, as `page: target`. */
  readonly broken: readonly string[];
}

export function stagePages(root: string, stage: string): StagedPages {
  rmSync(stage, { recursive: true, force: true });
  const pages = [...SINGLE, ...FOLDERS.flatMap((folder) => pagesBelow(root, folder))];
  const files = new Set<string>();
  const broken: string[] = [];
  for (const page of pages) {
    const staged = replaceLinks(readFileSync(join(root, page), 'utf8'), (link) => {
      const [path = '', anchor] = link.split('#');
      const target = normalize(join(dirname(page), path));
      const at = stagedPath(root, target, pages);
      if (at === null) {
        broken.push(`${page}: ${link}`);
        return link;
      }
      if (at.isFile) files.add(target);
      const moved = relative(dirname(page), at.path);
      return `${moved.startsWith('.') ? moved : `./${moved}`}${anchor === undefined ? '' : `#${anchor}`}`;
    });
    write(join(stage, asIndex(page)), staged);
  }
  for (const file of files) {
    const folder = isPicture(file) ? stage : join(stage, 'public');
    cpSync(join(root, file), join(folder, withEnding(file)));
  }
  return { pages, broken };
}

/** The path of a page below the folder that the generator reads. */
export const asIndex = (page: string): string => page.replace(/(^|\/)README\.md$/, '$1index.md');

/** A browser takes a file without an ending for a page. */
const withEnding = (file: string): string => (/\.\w+$/.test(file) ? file : `${file}.txt`);

/** The generator gives pictures names of their own. */
const isPicture = (file: string): boolean => /\.(png|svg)$/.test(file);

function stagedPath(root: string, target: string, pages: readonly string[]) {
  const page = [target, join(target, 'README.md')].find((one) => pages.includes(one));
  if (page !== undefined) return { path: asIndex(page), isFile: false };
  if (!existsSync(join(root, target)) || statSync(join(root, target)).isDirectory()) return null;
  return { path: withEnding(target), isFile: true };
}

/** Replaces the relative links of a page, but not in its blocks of code. Comments are left out. */
const replaceLinks = (text: string, replaced: (link: string) => string): string =>
  text
    .split(/(^```[\s\S]*?^```)/m)
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part
            .replaceAll(/<!--[\s\S]*?-->\n?/g, '')
            .replaceAll(/\]\((?!https?:|#)([^)\s]+)\)/g, (_, link: string) => `](${replaced(link)})`),
    )
    .join('');

const pagesBelow = (root: string, folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return pagesBelow(root, path);
    return entry.name.endsWith('.md') ? [path] : [];
  });

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
