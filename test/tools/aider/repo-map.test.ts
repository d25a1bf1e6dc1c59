import { expect, it } from 'vitest';
import { mapText, nameIn, namesOf, rankFiles } from '../../../src/tools/aider/repo-map.js';

/** The map that a model reads of a repository. */

const none: ReadonlySet<string> = new Set();
const defines = (file: string, name: string, line = 1) => ({ file, line, name, text: `def ${name}():` });
const mapped = {
  files: ['a.py', 'b.py', 'cache.py', 'main.py'],
  definitions: [
    defines('a.py', 'used'),
    defines('b.py', 'rarely'),
    defines('cache.py', '_hidden'),
    defines('main.py', 'main'),
  ],
  uses: [
    { file: 'main.py', name: 'used' },
    { file: 'b.py', name: 'used' },
    { file: 'main.py', name: 'rarely' },
    { file: 'main.py', name: '_hidden' },
  ],
  more: false,
};

it('names what others use most first, and what is mentioned before it', () => {
  expect(rankFiles(mapped, none, none)[0]).toBe('a.py');
  expect(rankFiles(mapped, none, none).slice(0, 2)).toEqual(['a.py', 'b.py']);
  expect(rankFiles(mapped, none, namesOf('the file cache.py, please'))[0]).toBe('cache.py');
  expect(rankFiles(mapped, new Set(['b.py']), none)[0]).toBe('a.py');
});

it('shows definitions with their lines while there is space, then names, then a number', () => {
  expect(mapText(mapped, none, none, 1000)).toBe(
    'a.py:\n1│def used():\n\nb.py:\n1│def rarely():\n\ncache.py:\n1│def _hidden():\n\nmain.py:\n1│def main():\n',
  );
  expect(mapText(mapped, new Set(['a.py']), none, 1000)).not.toContain('a.py');
  expect(mapText(mapped, none, none, 30)).toBe('a.py:\n1│def used():\n\nb.py\n(2 more files)');
  expect(mapText({ ...mapped, more: true }, none, none, 1000)).toContain('more files than were looked at');
});

it('stays within its bound, whatever names there are', () => {
  const files = Array.from({ length: 5000 }, (_, at) => `${'d/'.repeat(100)}${at}.py`);
  const definitions = files.map((file, at) => defines(file, `f${at}`));
  const uses = files.flatMap((file, at) => [{ file, name: `f${(at * 7) % 5000}` }]);
  expect(mapText({ files, definitions, uses, more: false }, none, none, 4000).length).toBeLessThan(4100);
});

it.each([
  ['def f(x):', 'f'],
  ['export async function go() {', 'go'],
  ['func (s *Server) Serve(l net.Listener) error {', 'Serve'],
  ['pub(crate) fn parse(text: &str) {', 'parse'],
  ['static int main(int argc)', 'main'],
  ['class __proto__', '__proto__'],
  ['', null],
  ['   ', null],
])('%s defines %s', (line, name) => {
  expect(nameIn(line)).toBe(name);
});
