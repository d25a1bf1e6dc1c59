import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Command, Help, type Option } from 'commander';
import { z } from 'zod';
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

const manifest = z.object({ name: z.literal('holdfast'), version: z.string() });

/** This package, which lies above the source and above what is built from it. */
function findPackage(): { readonly root: string; readonly version: string } | null {
  for (let directory = import.meta.dirname; directory !== dirname(directory); directory = dirname(directory)) {
    try {
      const { version } = manifest.parse(JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')));
      return { root: directory, version };
    } catch {
      // Not here: one directory up.
    }
  }
  return null;
}

export const packageVersion = (): string => findPackage()?.version ?? 'unknown';

/** Where the tasks that ship are, each in a directory of its name. */
export const shippedTasks = (): string => join(findPackage()?.root ?? '.', 'src', 'tasks');
