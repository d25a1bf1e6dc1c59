import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { COMMAND_EXAMPLES } from '../../src/cli/command-examples.js';
import { COMMANDS, loadCommand, loadCommands } from '../../src/cli/command-table.js';
import { COMMAND_TEXTS } from '../../src/cli/command-texts.js';
import { EXIT_CODES } from '../../src/cli/exit-codes.js';
import { packageVersion } from '../../src/cli/help.js';
import { COMMAND_GROUPS } from '../../src/cli/program-texts.js';
import { pageText } from '../docs/pages.js';
import { runHere, SHUT_DOORS } from './in-process.js';

/** Every command that does something, by all its words. */
const named = new Map(
  (await loadCommands(SHUT_DOORS)).flatMap((command): [string, Command][] =>
    command.commands.length === 0
      ? [[command.name(), command]]
      : command.commands.map((sub) => [`${command.name()} ${sub.name()}`, sub]),
  ),
);

/** The words of a line as a shell takes them; single quotes are all that the examples use. */
const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

it('each command has a text and examples, and no text is without its command', () => {
  expect(Object.keys(COMMAND_TEXTS)).toEqual([...named.keys()]);
  expect(Object.keys(COMMAND_EXAMPLES)).toEqual([...named.keys()]);
});

it('each command is in one group of the help', async () => {
  const grouped = Object.values(COMMAND_GROUPS).flat();
  expect(grouped.toSorted()).toEqual(['help', ...(await loadCommands(SHUT_DOORS)).map((one) => one.name())].toSorted());
});

const examples = Object.entries(COMMAND_EXAMPLES).flatMap(([name, lines]) => lines.map(([, line]) => [line, name]));

it.each(examples)('the example %s parses', async (line = '', name = '') => {
  const bare = line.replace(/^source <\((.+)\)$/, '$1').replace(/ > .+$/, '');
  const [program, ...given] = words(bare.replaceAll(/(?<=\s)@\S+/g, '{}'));
  const asked = name.split(' ');
  expect([program, ...given.slice(0, asked.length)]).toEqual(['holdfast', ...asked]);
  const fresh = (await loadCommands(SHUT_DOORS)).flatMap((one) => [one, ...one.commands]);
  const command = fresh.find(
    (one) => one.name() === asked.at(-1) && (one.parent?.name() ?? '') === (asked.at(-2) ?? ''),
  );
  let parsed = false;
  const parsing = command?.exitOverride().action(() => {
    parsed = true;
  });
  await parsing?.parseAsync(given.slice(asked.length), { from: 'user' });
  expect(parsed).toBe(true);
});

it('a command that takes options has two examples or more', () => {
  for (const [name, command] of named) {
    const least = command.options.length === 0 ? 1 : 2;
    expect(COMMAND_EXAMPLES[name]?.length, name).toBeGreaterThanOrEqual(least);
  }
});

it('help shows each example with what it does', () => {
  const help = named.get('wait');
  let shown = '';
  help
    ?.configureOutput({
      writeOut: (text) => {
        shown += text;
      },
    })
    .outputHelp();
  expect(shown).toContain('\nExamples:\n  # Wait until a run is paused or over\n  holdfast wait run_1a1b\n');
});

it.each([['help'], ['--help']])(
  'holdfast %s lists every command in its group, examples and exit codes',
  async (asked) => {
    const { code, stdout, stderr } = await runHere([asked], {});
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const [title, names] of Object.entries(COMMAND_GROUPS)) {
      const group = stdout.split(`\n${title}:\n`)[1]?.split('\n\n')[0] ?? '';
      for (const name of names) expect(group).toMatch(new RegExp(`^  ${name}\\b`, 'm'));
    }
    expect(stdout).toContain('\nExamples:\n');
    expect(stdout).toContain('\n  4  The server stopped answering');
  },
);

it('help of a command is that of its option, also of one below another', async () => {
  for (const line of [['run'], ['task', 'run']]) {
    const [help, option] = [await runHere(['help', ...line], {}), await runHere([...line, '--help'], {})];
    expect(help).toEqual(option);
    expect(help.code).toBe(0);
  }
});

it('help names each command as its module does, with its summary', async () => {
  const { stdout } = await runHere(['--help'], {});
  for (const [name, entry] of Object.entries(COMMANDS)) {
    expect((await loadCommand(entry, SHUT_DOORS)).name()).toBe(name);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(` ${name} ${entry.summary} `);
  }
});

it('-v prints the version', async () => {
  expect(await runHere(['-v'], {})).toEqual({ code: 0, stdout: `${packageVersion()}\n`, stderr: '' });
});

it.each([
  ['rnu', "Unknown command 'rnu'. Did you mean `holdfast run`?", '`holdfast help`'],
  ['rnu --help', "Unknown command 'rnu'. Did you mean `holdfast run`?", '`holdfast help`'],
  ['help aprove', "Unknown command 'aprove'. Did you mean `holdfast approve`?", '`holdfast help`'],
  ['help task lst', "Unknown command 'lst'. Did you mean `holdfast task list`?", '`holdfast help`'],
  ['task lst', "Unknown command 'lst' (Did you mean list?)", '`holdfast help task`'],
  ['run payer go --wiat', "Unknown option '--wiat' (Did you mean --wait?)", '`holdfast help run`'],
  ['task run x --agnt y', "Unknown option '--agnt' (Did you mean --agent?)", '`holdfast help task run`'],
  ['run payer Pay them all', 'Too many arguments', 'Put a text of several words in quotes. Read `holdfast help run`.'],
])('%s says what was meant', async (line, what, wayOut) => {
  const { code, stdout, stderr } = await runHere(line.split(' '), {});
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(what);
  expect(stderr.split('\n')[1]).toContain(wayOut);
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
