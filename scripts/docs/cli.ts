import type { Command, Option } from 'commander';
import { COMMAND_EXAMPLES } from '../../src/cli/command-examples.js';
import { loadCommands } from '../../src/cli/command-table.js';
import { COMMAND_TEXTS } from '../../src/cli/command-texts.js';
import { code, wrapped } from './markdown.js';

const never = (): never => {
  throw new Error('The documentation starts no command.');
};

const NOTHING = {
  log: never,
  openHttp: never,
  isLoopback: never,
  keptToken: never,
  madeToken: never,
  runDemo: never,
  ownModules: never,
};

function optionLine({ long, flags, description, argChoices, defaultValue, mandatory }: Option): string {
  const value = /[<[].*$/.exec(flags)?.[0] ?? '';
  const notes = [
    ...(argChoices === undefined ? [] : [`one of ${argChoices.map(code).join(', ')}`]),
    ...(typeof defaultValue === 'string' || typeof defaultValue === 'number'
      ? [`default ${code(String(defaultValue))}`]
      : []),
    ...(mandatory ? ['required'] : []),
  ];
  const note = notes.length === 0 ? '' : ` (${notes.join('; ')})`;
  return wrapped(`- ${code(`${long ?? flags} ${value}`.trim())} ${description}${note}`, '  ');
}

function section(command: Command, above: string): string {
  const name = `${above}${command.name()}`;
  if (command.commands.length > 0) return command.commands.map((one) => section(one, `${name} `)).join('\n\n');
  const text = COMMAND_TEXTS[name];
  if (text === undefined) throw new Error(`The command "${name}" has no text: add one to src/cli/command-texts.ts.`);
  const examples = COMMAND_EXAMPLES[name] ?? [];
  const given = command.registeredArguments.map((argument) => {
    const shown = argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
    return wrapped(`- ${code(shown)} ${argument.description}`, '  ');
  });
  return [
    `## ${name}`,
    text.about
      .split('\n\n')
      .map((paragraph) => wrapped(paragraph))
      .join('\n\n'),
    `\`\`\`sh\n${examples.map(([does, line]) => `# ${does}\n${line}`).join('\n')}\n\`\`\``,
    [...given, ...command.options.map(optionLine)].join('\n'),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

const commands = await loadCommands(NOTHING);

export const cliBlock = (): string => commands.map((command) => section(command, '')).join('\n\n');
