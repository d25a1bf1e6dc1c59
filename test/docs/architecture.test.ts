import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { codes, names, pageText, ROOT, rows, section } from './pages.js';

const page = pageText('docs/architecture.md');
const floors = section(page, '## Floors and rooms');
const [roomTable = '', packageTable = ''] = floors.split('\nEach package');

const files = (folder: string): string[] =>
  readdirSync(join(ROOT, folder)).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(join(ROOT, path)).isDirectory()) return files(path);
    return /\.m?ts$/.test(name) ? [path] : [];
  });
const SOURCES = ['src', 'steps', 'workflows', 'migrations'].flatMap(files);

const roomOf = (path: string): string => {
  const [top = '', second = ''] = path.split('/');
  return top === 'src' ? second.replace(/\.m?ts$/, '') : top;
};

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/** The rooms that import each package at run time. */
function homes(): Record<string, string[]> {
  const found: Record<string, Set<string>> = {};
  for (const path of SOURCES) {
    const text = readFileSync(join(ROOT, path), 'utf8');
    for (const [, specifier = ''] of [
      ...text.matchAll(/^(?:import|export)\s+(?!type\s)(?:[^'";]*?from\s+)?'([^'.][^']*)'/gm),
      ...text.matchAll(/(?:await|=>) import\('([^'.][^']*)'\)/g),
    ]) {
      if (specifier.startsWith('node:')) continue;
      const name = packageOf(specifier);
      found[name] = (found[name] ?? new Set()).add(roomOf(path));
    }
  }
  return Object.fromEntries(Object.entries(found).map(([name, rooms]) => [name, [...rooms].sort()]));
}

it('docs/architecture.md has every room, and no other', () => {
  const real = SOURCES.map((path) => path.split('/').slice(0, path.startsWith('src/') ? 2 : 1))
    .filter(([top, second = '']) => top !== 'src' || !second.endsWith('.ts'))
    .map((parts) => parts.join('/'));
  expect(names(roomTable).sort()).toEqual([...new Set(real)].sort());
});

it('docs/architecture.md says of every file of workflows what it is for', () => {
  const named = new Set(codes(page));
  expect(SOURCES.filter((path) => path.startsWith('workflows/') && !named.has(path))).toEqual([]);
});

it('docs/architecture.md has every package with the rooms that import it', () => {
  const documented = rows(packageTable).map(([name = '', rooms = '']) => [codes(name)[0], rooms.split(', ').sort()]);
  expect(Object.fromEntries(documented)).toEqual(homes());
  const { dependencies, peerDependencies }: Record<string, object> = JSON.parse(pageText('package.json'));
  expect(names(packageTable).sort()).toEqual(Object.keys({ ...dependencies, ...peerDependencies }).sort());
});
