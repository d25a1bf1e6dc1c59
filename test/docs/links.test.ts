import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { longPages } from '../../scripts/architecture/pages.js';
import { codes, pages, pageText, ROOT } from './pages.js';

/** Links and paths that the pages name, and what the README must begin with. */

const withoutCode = (text: string): string => text.replaceAll(/^```[\s\S]*?^```/gm, '');

/** As GitHub makes them. */
const anchors = (text: string): string[] =>
  [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

const links = (text: string): string[] =>
  [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);

function broken(page: string, link: string): boolean {
  if (/^https?:/.test(link)) return false;
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : normalize(join(dirname(page), path));
  if (!existsSync(join(ROOT, target))) return true;
  return anchor !== undefined && !anchors(pageText(target)).includes(anchor);
}

/** A path of this repository in backticks; one with a placeholder is none. */
const PATH = /^\.?(src|steps|workflows|migrations|test|docs|ci)\/[\w./-]*$/;

describe.each(pages())('%s', (page) => {
  const text = pageText(page);

  it('links to what exists', () => {
    expect(links(text).filter((link) => broken(page, link))).toEqual([]);
  });

  it('names files and folders that exist', () => {
    const named = codes(withoutCode(text)).filter((code) => PATH.test(code));
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

it('README.md begins with the two commands', () => {
  const lines = pageText('README.md').split('\n').slice(0, 15);
  expect(lines).toEqual(expect.arrayContaining(['npm ci && npm run demo', 'npm ci && npm test']));
});

it('README.md and CONTRIBUTING.md name scripts that package.json has', () => {
  const { scripts }: { scripts: object } = JSON.parse(pageText('package.json'));
  const text = ['README.md', 'CONTRIBUTING.md', 'AGENTS.md'].map(pageText).join('\n');
  const named = [...text.matchAll(/npm (?:run )?(\w+)/g)].map(([, name = '']) => name);
  const own = new Set(named.filter((name) => !['ci', 'run', 'pack', 'init', 'i'].includes(name)));
  expect([...own].filter((name) => !(name in scripts))).toEqual([]);
});

it('docs/index.md links to every page of the documentation', () => {
  const linked = new Set(links(pageText('docs/index.md')).map((link) => normalize(join('docs', link))));
  const others = pages().filter((page) => page.startsWith('docs/') && page !== 'docs/index.md');
  expect(others.filter((page) => !linked.has(page))).toEqual([]);
});

it('docs/ has at most 25 pages and folders', () => {
  expect(readdirSync(join(ROOT, 'docs')).length).toBeLessThanOrEqual(25);
});

it('no page has more than 600 words beside tables, code and generated parts', () => {
  expect(longPages()).toEqual([]);
});

it('README.md is short', () => {
  expect(pageText('README.md').split(/\s+/).filter(Boolean).length).toBeLessThan(900);
});
