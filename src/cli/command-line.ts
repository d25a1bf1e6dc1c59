import { Command, CommanderError } from 'commander';
import { HoldfastError } from '../core/errors/errors.js';
import { nearestName } from '../core/nearest-name.js';
import type { CliServices } from './cli-services.js';
import { COMMANDS, loadCommand } from './command-table.js';
import { CRASH_LIFE, crashLife } from './crashtest/crash-life.js';
import { EXIT_CODES } from './exit-codes.js';
import { commandOf, helpCommand, packageVersion, programFooter, withTexts } from './help.js';
import { printError } from './print.js';
import { ServerGone } from './server-return.js';

/** The program. Only the command that these words name is loaded; the others have their name and their summary. */
async function programOf(words: readonly string[], services: CliServices): Promise<Command> {
  const program = new Command('holdfast')
    .description('Durable runs of AI agents: they survive crashes, wait for people, and prove what they did.')
    .version(packageVersion(), '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .addHelpText('after', programFooter());
  const named = words.find((word) => !ABOUT_COMMANDS.has(word));
  for (const [name, entry] of Object.entries(COMMANDS)) {
    program.addCommand(
      name === named ? await loadCommand(entry, services) : withTexts(new Command(name).summary(entry.summary)),
    );
  }
  return program.addCommand(withTexts(helpCommand(program)));
}

/** What may stand before the name of a command. */
const ABOUT_COMMANDS: ReadonlySet<string> = new Set(['help', 'complete']);

/** Runs one command. Errors are printed as two lines; the exit code is one of `EXIT_CODES`. */
export async function runCommandLine(args: readonly string[], services: CliServices): Promise<void> {
  const program = await programOf(args, services);
  for (const command of [program, ...program.commands.flatMap((one) => [one, ...one.commands])]) {
    command.exitOverride().configureOutput({ outputError: () => undefined });
  }
  const [first = '-', ...after] = args;
  try {
    if (first === CRASH_LIFE) return await crashLife(services);
    if (first === 'complete') return await (await import('./completion/complete.js')).printCandidates(program, after);
    if (!first.startsWith('-')) commandOf(program, [first]);
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return misused(error, args, helpOf(program, args));
    printError(error);
    process.exitCode = (error instanceof ServerGone ? EXIT_CODES.serverAway : EXIT_CODES.failed).code;
  }
}

/** The help that says how a command line should have been. */
function helpOf(program: Command, [first = '', second = '']: readonly string[]): string {
  const command = program.commands.find((one) => one.name() === first);
  const below = command?.commands.some((one) => one.name() === second) === true ? ` ${second}` : '';
  return command === undefined || first === 'help' ? '`holdfast help`' : `\`holdfast help ${first}${below}\``;
}

/** What was written where an option that is needed is not there; null: nothing like it. */
function mistyped({ code, message }: CommanderError, args: readonly string[]): string | null {
  if (code !== 'commander.missingMandatoryOptionValue') return null;
  const [needed = ''] = /--[\w-]+/.exec(message) ?? [];
  const written = args.find((one) => one.startsWith('--') && nearestName(one, [needed]) !== null);
  return written === undefined ? null : `Unknown option '${written}' (Did you mean ${needed}?)`;
}

/** Help and version come as errors too. */
function misused(error: CommanderError, args: readonly string[], help: string): void {
  if (error.exitCode === 0) return;
  process.exitCode = EXIT_CODES.misused.code;
  // Without a command the help was printed, which says everything.
  if (error.code === 'commander.help') return;
  const what = mistyped(error, args) ?? error.message.replace(/^error: /, '').replaceAll('\n', ' ');
  const quotes = error.code === 'commander.excessArguments' ? 'Put a text of several words in quotes. ' : '';
  printError(
    new HoldfastError(
      'invalid_request',
      `${what.charAt(0).toUpperCase()}${what.slice(1)}${/[.)?]$/.test(what) ? '' : '.'}`,
      { hint: `${quotes}Read ${help}.` },
    ),
  );
}
