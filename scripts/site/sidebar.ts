import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { asIndex } from './stage.js';

/** The list of pages beside each page: the headings of docs/index.md, and the pages that it names below each. */

interface Group {
  readonly text: string;
  readonly collapsed: boolean;
  readonly items: readonly { readonly text: string; readonly link: string }[];
}

const INDEX = 'docs/index.md';

export function sidebarOf(root: string): readonly Group[] {
  const [, ...sections] = readFileSync(join(root, INDEX), 'utf8').split(/^## /m);
  return sections.map((section) => ({
    text: section.slice(0, section.indexOf('\n')),
    collapsed: false,
    items: pagesOf(section).map((page) => ({
      text: titleOf(readFileSync(join(root, page), 'utf8')),
      link: `/${asIndex(page).replace(/(index)?\.md$/, '')}`,
    })),
  }));
}

const pagesOf = (section: string): readonly string[] => [
  ...new Set(
    [...section.matchAll(/\]\(([^)\s#]+\.md)(?:#[^)]*)?\)/g)].map(([, link = '']) =>
      normalize(join(dirname(INDEX), link)),
    ),
  ),
];

const titleOf = (text: string): string => (/^# (.+)$/m.exec(text)?.[1] ?? '').replaceAll('`', '');
