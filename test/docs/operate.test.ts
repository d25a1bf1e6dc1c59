import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadCommands } from '../../src/cli/command-table.js';
import { SETTINGS } from '../../src/config.js';
import { SHUT_DOORS } from '../cli/in-process.js';
import { codes, names, pages, pageText, ROOT, section } from './pages.js';

/** The words of a line as a shell takes them; quotes are all that the pages use. */
const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, one, two, plain]) => one ?? two ?? plain ?? '');

describe.each(pages('docs/operate'))('%s', (page) => {
  const blocks = [...pageText(page).matchAll(/```sh\n([^`]+)```/g)].flatMap(([, block = '']) => block.split('\n'));
  const lines = blocks
    .map((line) => line.replace(/^(?:\w+=(?:'[^']*'|\S+) )+/, ''))
    .filter((line) => /^holdfast /.test(line));

  it('has commands that parse', async () => {
    for (const line of lines) {
      const [, name, ...args] = words(line);
      const command = (await loadCommands(SHUT_DOORS)).find((one) => one.name() === name);
      let parsed = false;
      const parsing = command?.exitOverride().action(() => {
        parsed = true;
      });
      await parsing?.parseAsync(args, { from: 'user' });
      expect(parsed, line).toBe(true);
    }
  });

  it('names settings that there are', () => {
    const known = new Set<string>(SETTINGS.map(({ name }) => name));
    const named = codes(pageText(page)).flatMap((code) => code.match(/\bHOLDFAST_\w+|\bDATABASE_URL\b/g) ?? []);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });
});

it('docs/operate/deploys.md has what doctor says of strays', () => {
  const said = readFileSync(join(ROOT, 'src/cli/doctor/check-strays.ts'), 'utf8');
  const phrases = names(section(pageText('docs/operate/deploys.md'), '## Strays'));
  expect(phrases.filter((phrase) => !said.includes(phrase))).toEqual([]);
  expect(phrases.length).toBe(said.match(/\b(?:warn|fail)\(\s*CHECK/g)?.length);
});
