import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { commands } from '../../src/cli/command-line.js';
import { COMMAND_TEXTS } from '../../src/cli/command-texts.js';
import { EXIT_CODES } from '../../src/cli/exit-codes.js';
import { packageVersion } from '../../src/cli/help.js';
import { pageText } from '../docs/pages.js';
import { SHUT_DOORS } from './in-process.js';

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

it('each command has a text, and no text is without its command', () => {
  expect(Object.keys(COMMAND_TEXTS)).toEqual([...named.keys()]);
});

it.each([...named])('the example of %s parses', async (name, command) => {
  const [program, ...line] = words(COMMAND_TEXTS[name]?.example ?? '');
  const asked = name.split(' ');
  const args = line.slice(asked.length);
  expect([program, ...line.slice(0, asked.length)]).toEqual(['holdfast', ...asked]);
  let parsed = false;
  const parsing = command.exitOverride().action(() => {
    parsed = true;
  });
  await parsing.parseAsync(args, { from: 'user' });
  expect(parsed).toBe(true);
});

it('help shows the text of a command without its links, and its example', () => {
  const help = named.get('delete')?.helpInformation() ?? '';
  expect(help).toContain('as if it had never been started.');
  expect(help).not.toContain('](');
});

it('the version is that of package.json', () => {
  expect(packageVersion()).toBe(JSON.parse(pageText('package.json')).version);
});

it('docs/cli.md has every exit code', () => {
  const rows = Object.values(EXIT_CODES).map(({ code, meaning }) => `| ${code} | ${meaning} |`);
  expect(pageText('docs/cli.md')).toContain(`| ---- | ------- |\n${rows.join('\n')}\n\n`);
});
