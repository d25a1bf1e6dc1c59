import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readConsole } from '../../src/http/console-files.js';

const KB = 1000;

/** The files of the build that a page has before it loads another part: those that are named, and what they import at once. */
function atOnce(assets: ReadonlyMap<string, Buffer>, named: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (name: string): void => {
    const content = assets.get(name);
    if (content === undefined || found.has(name)) return;
    found.add(name);
    for (const [, next = ''] of content.toString('utf8').matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g)) add(next);
  };
  for (const name of named) add(name);
  return found;
}

test('the console has no more bytes than it may: in all, and on the first screen', () => {
  const files = readConsole();
  if (files === null) throw new Error('The console is not built.');
  const { page, assets } = files;
  const packed = (name: string): number => gzipSync(assets.get(name) ?? '', { level: 9 }).length;
  const named = [...page.matchAll(/assets\/([\w.-]+\.(?:js|css))/g)].map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(1);
  const inbox = [...assets.keys()].filter(
    (name) => /\.js$/.test(name) && String(assets.get(name)).includes('inbox-side'),
  );
  expect(inbox.length).toBeGreaterThan(0);
  const first = [...atOnce(assets, [...named, ...inbox])].reduce((sum, name) => sum + packed(name), 0);
  const all = [...assets.keys()].filter((name) => !name.endsWith('.map')).reduce((sum, name) => sum + packed(name), 0);
  expect(first).toBeGreaterThan(10 * KB);
  expect(first).toBeLessThanOrEqual(60 * KB);
  expect(all).toBeLessThanOrEqual(127 * KB);
});
