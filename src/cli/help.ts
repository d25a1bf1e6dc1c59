import { type Command, Help, type Option } from 'commander';
import { COMMAND_TEXTS } from './command-texts.js';

const withoutLinks = (markdown: string): string => markdown.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1');

const standard = new Help();

/** Gives a command, and those below it, the texts of their help. A command without a text keeps its description. */
export function withTexts(command: Command, above = ''): Command {
  const name = `${above}${command.name()}`;
  const text = COMMAND_TEXTS[name];
  command.configureHelp({
    commandDescription: (one) => withoutLinks(one.description()),
    optionDescription: (option: Option) => withoutLinks(standard.optionDescription(option)),
  });
  if (text !== undefined) {
    command.summary(command.description()).description(text.about);
    command.addHelpText('after', `\nExample:\n  ${text.example}`);
  }
  for (const one of command.commands) withTexts(one, `${name} `);
  return command;
}
