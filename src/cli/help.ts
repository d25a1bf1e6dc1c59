import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Command, Help, type Option } from 'commander';
import { z } from 'zod';
import { nearestName } from '../core/nearest-name.js';
import { COMMAND_EXAMPLES } from './command-examples.js';
import { COMMAND_TEXTS } from './command-texts.js';
import type { Example } from './commands/tasks/task-examples.js';
import { EXIT_CODES } from './exit-codes.js';
import { misuse } from './options.js';
import { COMMAND_GROUPS } from './program-texts.js';

const withoutMarks = (markdown: string): string => markdown.replaceAll('`', '');
/** Markdown as one line of plain text. */
export const withoutMarkdown = (markdown: string): string => withoutMarks(withoutLinks(markdown));
const withoutLinks = (markdown: string): string => markdown.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1');

const standard = new Help();

/** Gives a command, and those below it, the texts of their help. A command without a text is described by its summary. */
export function withTexts(command: Command, above = ''): Command {
  const name = `${above}${command.name()}`;
  const text = COMMAND_TEXTS[name];
  command.configureHelp({
    commandDescription: (one) => withoutLinks(one.description()),
    optionDescription: (option: Option) => withoutLinks(standard.optionDescription(option)),
  });
  if (text !== undefined) {
    command.summary(command.summary() || command.description()).description(text.about);
    command.addHelpText('after', `\nExamples:\n${exampleLines(COMMAND_EXAMPLES[name] ?? [])}`);
  }
  if (command.description() === '') command.description(command.summary());
  const group = Object.entries(COMMAND_GROUPS).find(([, names]) => names.includes(name));
  if (group !== undefined) command.helpGroup(`${group[0]}:`);
  for (const one of command.commands) withTexts(one, `${name} `);
  return command;
}

const exampleLines = (examples: readonly Example[]): string =>
  examples.map(([does, line]) => `  # ${does}\n  ${line}`).join('\n');

const FIRST_HOUR: readonly Example[] = [
  ['Serve the agents of this folder', 'holdfast serve'],
  ['In a second terminal: start a run, see what waits for you, decide', "holdfast run <agent> '<input>' --wait"],
  ...['holdfast inbox', 'holdfast approve <id>'].map((line): Example => ['', line]),
  ['Read what a command takes', 'holdfast help run'],
];

const exitCodeLines = (): string =>
  Object.values(EXIT_CODES)
    .map(({ code, meaning }) => `  ${code}  ${withoutMarks(meaning)}`)
    .join('\n');

/** What the help of the program says after its commands. */
export const programFooter = (): string =>
  `\nExamples:\n${exampleLines(FIRST_HOUR).replaceAll('  # \n', '')}\n\nExit codes:\n${exitCodeLines()}`;

/** Shows the help of the program, or of one of its commands. */
export const helpCommand = (program: Command): Command =>
  new Command('help')
    .description('Show this help, or that of a command.')
    .argument('[command...]', 'words of a command')
    .action((words: readonly string[]) => commandOf(program, words).help());

/** The command of these words. Throws a misuse that names the nearest one. */
export function commandOf(program: Command, words: readonly string[]): Command {
  let found = program;
  for (const [index, word] of words.entries()) {
    const next = found.commands.find((one) => one.name() === word);
    if (next === undefined) {
      const above = ['holdfast', ...words.slice(0, index)].join(' ');
      const near = nearestName(
        word,
        found.commands.map((one) => one.name()),
      );
      throw misuse(`Unknown command '${word}'.${near === null ? '' : ` Did you mean \`${above} ${near}\`?`}`);
    }
    found = next;
  }
  return found;
}

const versions = z.record(z.string(), z.string()).default({});
const manifest = z.object({
  ...{ name: z.literal('holdfast'), version: z.string() },
  ...{ dependencies: versions, peerDependencies: versions, devDependencies: versions },
});

/** This package, which lies above the source and above what is built from it. */
function findPackage(): (z.output<typeof manifest> & { readonly root: string }) | null {
  for (let directory = import.meta.dirname; directory !== dirname(directory); directory = dirname(directory)) {
    try {
      const found = manifest.parse(JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')));
      return { root: directory, ...found };
    } catch {
      // Not here: one directory up.
    }
  }
  return null;
}

export const packageVersion = (): string => findPackage()?.version ?? 'unknown';

/** Versions of the packages that this one is made with, and its own. */
export function packageVersions(): { readonly [name: string]: string } {
  const found = findPackage();
  if (found === null) return {};
  const { version, devDependencies, peerDependencies, dependencies } = found;
  return { ...devDependencies, ...peerDependencies, ...dependencies, holdfast: `^${version}` };
}

/** Where files of the command line are that ship as they are. */
const shipped = (...path: readonly string[]): string => join(findPackage()?.root ?? '.', 'src', 'cli', ...path);
export const shippedProject = (): string => shipped('commands', 'start', 'project');
export const shippedScripts = (): string => shipped('completion', 'scripts');

/** Where the tasks that ship are, each in a directory of its name. */
export const shippedTasks = (): string => join(findPackage()?.root ?? '.', 'src', 'tasks');
