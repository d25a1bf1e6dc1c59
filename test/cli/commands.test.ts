import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { commands } from '../../src/cli/command-line.js';
import { packageVersion } from '../../src/cli/package-version.js';
import { codes, pageText } from '../docs/pages.js';
import { SHUT_DOORS } from './in-process.js';

const page = pageText('docs/cli.md');
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), text]),
);
/** Every command that does something, by all its words. */
const named = new Map(
  commands(SHUT_DOORS).flatMap((command): [string, Command][] =>
    command.commands.length === 0
      ? [[command.name(), command]]
      : command.commands.map((sub) => [`${command.name()} ${sub.name()}`, sub]),
  ),
);

/** The words of a line as a shell takes them; single quotes are all that the examples use. */
const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

describe('docs/cli.md', () => {
  it('has one section for each command, in their order, and no other', () => {
    expect([...sections.keys()]).toEqual([...named.keys()]);
  });

  it('lists the options of each command, and no other', () => {
    for (const [name, command] of named) {
      const listed = (sections.get(name) ?? '')
        .split('\n')
        .filter((line) => line.startsWith('- '))
        .map((line) => codes(line)[0]);
      expect(listed, name).toEqual(command.options.map((option) => option.long));
    }
  });

  it('has one example of each command, which parses', async () => {
    for (const [name, command] of named) {
      const blocks = [...(sections.get(name) ?? '').matchAll(/```sh\n([^`]+)```/g)].map(([, block = '']) =>
        block.trim(),
      );
      expect(blocks.length, name).toBe(1);
      const [program, ...line] = words(blocks[0] ?? '');
      const asked = name.split(' ');
      const args = line.slice(asked.length);
      expect([program, ...line.slice(0, asked.length)]).toEqual(['holdfast', ...asked]);
      let parsed = false;
      const parsing = command.exitOverride().action(() => {
        parsed = true;
      });
      await parsing.parseAsync(args, { from: 'user' });
      expect(parsed, name).toBe(true);
    }
  });
});

it('the version is that of package.json', () => {
  expect(packageVersion()).toBe(JSON.parse(pageText('package.json')).version);
});
