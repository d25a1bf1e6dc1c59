import { Command, CommanderError } from 'commander';
import { HoldfastError } from '../core/errors/errors.js';
import { nearestName } from '../core/nearest-name.js';
import type { CliServices } from './cli-services.js';

import { checkpointCommand } from './commands/evidence/checkpoint.js';
import { proofCommand } from './commands/evidence/proof.js';
import { signingKeyCommand } from './commands/evidence/signing-key.js';
import { verifyCommand } from './commands/evidence/verify.js';
import { evolveCommand } from './commands/evolution/evolve.js';
import { exportCommand } from './commands/exports/export.js';
import { exportsCommand } from './commands/exports/exports.js';
import { answerCommand, approveCommand, rejectCommand } from './commands/inbox/decide.js';
import { inboxCommand } from './commands/inbox/inbox.js';
import { standingDecisionsCommand } from './commands/inbox/standing-decisions.js';
import { memoryCommand } from './commands/memory/memory.js';
import { planCommand } from './commands/plans/plan.js';
import { eraseCommand } from './commands/retention/erase.js';
import { retentionCommand } from './commands/retention/retention.js';
import { cancelCommand } from './commands/runs/cancel.js';
import { chargesCommand } from './commands/runs/charges.js';
import { deleteCommand } from './commands/runs/delete.js';
import { diffCommand } from './commands/runs/diff.js';
import { emitCommand } from './commands/runs/emit.js';
import { eventsCommand } from './commands/runs/events.js';
import { findCommand } from './commands/runs/find.js';
import { forkCommand, repairCommand, retryCommand } from './commands/runs/fork.js';
import { preflightCommand } from './commands/runs/preflight.js';
import { replayCommand } from './commands/runs/replay.js';
import { rewardCommand } from './commands/runs/reward.js';
import { runCommand } from './commands/runs/run.js';
import { runsCommand } from './commands/runs/runs.js';
import { sessionsCommand } from './commands/runs/sessions.js';
import { showCommand } from './commands/runs/show.js';
import { spendCommand } from './commands/runs/spend.js';
import { stateCommand } from './commands/runs/state.js';
import { stepsCommand } from './commands/runs/steps.js';
import { trajectoriesCommand } from './commands/runs/trajectories.js';
import { trajectoryCommand } from './commands/runs/trajectory.js';
import { waitCommand } from './commands/runs/wait.js';
import { watchCommand } from './commands/runs/watch.js';
import { workCommand } from './commands/runs/work.js';
import { accessCommand } from './commands/server/access.js';
import { agentsCommand } from './commands/server/agents.js';
import { alertsCommand } from './commands/server/alerts.js';
import { compactCommand } from './commands/server/compact.js';
import { consoleCommand } from './commands/server/console.js';
import { demoCommand } from './commands/server/demo.js';
import { devCommand } from './commands/server/dev.js';
import { migrateCommand } from './commands/server/migrate.js';
import { budgetsCommand, errorsCommand, queueCommand } from './commands/server/overview.js';
import { serveCommand } from './commands/server/serve.js';
import { statsCommand } from './commands/server/stats.js';
import { workersCommand } from './commands/server/workers.js';
import { benchCommand } from './commands/start/bench.js';
import { completionCommand } from './commands/start/completion.js';
import { CRASH_LIFE, crashLife, crashTestCommand } from './commands/start/crashtest.js';
import { initCommand } from './commands/start/init.js';
import { artifactsCommand } from './commands/tasks/artifacts.js';
import { batchesCommand } from './commands/tasks/batches.js';
import { datasetCommand } from './commands/tasks/dataset.js';
import { qualityCommand } from './commands/tasks/quality.js';
import { taskCommand } from './commands/tasks/task.js';
import { printCandidates } from './completion/complete.js';
import { doctorCommand } from './doctor/doctor.js';
import { EXIT_CODES } from './exit-codes.js';
import { commandOf, helpCommand, packageVersion, programFooter, withTexts } from './help.js';
import { printError } from './print.js';
import { ServerGone } from './server-return.js';

/** Every command, with the texts of its help. */
export const commands = (services: CliServices): readonly Command[] =>
  [
    initCommand(),
    devCommand(services),
    serveCommand(services),
    consoleCommand(),
    runCommand(),
    waitCommand(),
    watchCommand(),
    showCommand(),
    runsCommand(),
    agentsCommand(),
    planCommand(),
    evolveCommand(),
    inboxCommand(),
    approveCommand(),
    rejectCommand(),
    answerCommand(),
    standingDecisionsCommand(),
    emitCommand(),
    eventsCommand(),
    findCommand(),
    taskCommand(),
    datasetCommand(),
    batchesCommand(),
    artifactsCommand(),
    qualityCommand(),
    trajectoriesCommand(),
    trajectoryCommand(),
    stepsCommand(),
    rewardCommand(),
    exportCommand(),
    exportsCommand(),
    chargesCommand(),
    spendCommand(),
    cancelCommand(),
    deleteCommand(),
    eraseCommand(),
    retentionCommand(),
    sessionsCommand(),
    memoryCommand(),
    forkCommand(),
    retryCommand(),
    stateCommand(),
    diffCommand(),
    verifyCommand(),
    repairCommand(),
    replayCommand(),
    proofCommand(),
    checkpointCommand(),
    signingKeyCommand(),
    workersCommand(),
    workCommand(),
    statsCommand(),
    queueCommand(),
    errorsCommand(),
    budgetsCommand(),
    alertsCommand(),
    accessCommand(),
    doctorCommand(services),
    preflightCommand(services),
    migrateCommand(),
    compactCommand(),
    demoCommand(services),
    crashTestCommand(),
    benchCommand(services),
    completionCommand(),
  ].map((command) => withTexts(command));

/** Runs one command. Errors are printed as two lines; the exit code is one of `EXIT_CODES`. */
export async function runCommandLine(args: readonly string[], services: CliServices): Promise<void> {
  const program = new Command('holdfast')
    .description('Durable runs of AI agents: they survive crashes, wait for people, and prove what they did.')
    .version(packageVersion(), '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .addHelpText('after', programFooter());
  for (const command of commands(services)) program.addCommand(command);
  program.addCommand(withTexts(helpCommand(program)));
  for (const command of [program, ...program.commands.flatMap((one) => [one, ...one.commands])]) {
    command.exitOverride().configureOutput({ outputError: () => undefined });
  }
  const [first = '-', ...after] = args;
  try {
    if (first === CRASH_LIFE) return await crashLife(services);
    if (first === 'complete') return await printCandidates(program, after);
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
