import { Command, CommanderError } from 'commander';
import { HoldfastError } from '../core/errors.js';
import { cancelCommand } from './cancel.js';
import { chargesCommand } from './charges.js';
import { checkpointCommand } from './checkpoint.js';
import { compactCommand } from './compact.js';
import { answerCommand, approveCommand, rejectCommand } from './decide.js';
import { deleteCommand } from './delete.js';
import { demoCommand } from './demo.js';
import { diffCommand } from './diff.js';
import { doctorCommand } from './doctor.js';
import type { Doors } from './doors.js';
import { emitCommand } from './emit.js';
import { eraseCommand } from './erase.js';
import { eventsCommand } from './events.js';
import { exportCommand } from './export.js';
import { exportsCommand } from './exports.js';
import { forkCommand, retryCommand } from './fork.js';
import { inboxCommand } from './inbox.js';
import { migrateCommand } from './migrate.js';
import { packageVersion } from './package-version.js';
import { preflightCommand } from './preflight.js';
import { printError } from './print.js';
import { proofCommand } from './proof.js';
import { repairCommand } from './repair.js';
import { replayCommand } from './replay.js';
import { retentionCommand } from './retention.js';
import { rewardCommand } from './reward.js';
import { runCommand } from './run.js';
import { runsCommand } from './runs.js';
import { serveCommand } from './serve.js';
import { sessionsCommand } from './sessions.js';
import { signingKeyCommand } from './signing-key.js';
import { spendCommand } from './spend.js';
import { standingDecisionsCommand } from './standing-decisions.js';
import { stateCommand } from './state.js';
import { statsCommand } from './stats.js';
import { taskCommand } from './task.js';
import { trajectoriesCommand } from './trajectories.js';
import { trajectoryCommand } from './trajectory.js';
import { verifyCommand } from './verify.js';
import { workCommand } from './work.js';
import { workersCommand } from './workers.js';

const FAILED = 1;
const MISUSED = 2;

/** Every command. docs/cli.md has one example of each, and a test holds the two equal. */
export const commands = (doors: Doors): readonly Command[] => [
  serveCommand(doors),
  runCommand(),
  runsCommand(),
  inboxCommand(),
  approveCommand(),
  rejectCommand(),
  answerCommand(),
  standingDecisionsCommand(),
  emitCommand(),
  eventsCommand(),
  taskCommand(),
  trajectoriesCommand(),
  trajectoryCommand(),
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
  doctorCommand(doors),
  preflightCommand(doors),
  migrateCommand(),
  compactCommand(),
  demoCommand(doors),
];

/** Runs one command. Errors are printed as two lines; the exit code is 1 for them and 2 for a command line that is wrong. */
export async function runCommandLine(args: readonly string[], doors: Doors): Promise<void> {
  const program = new Command('holdfast')
    .description('Durable runs of AI agents: they survive crashes, wait for people, and prove what they did.')
    .version(packageVersion())
    .helpCommand(false);
  for (const command of commands(doors)) program.addCommand(command);
  for (const command of [program, ...program.commands.flatMap((one) => [one, ...one.commands])]) {
    command.exitOverride().configureOutput({ outputError: () => undefined });
  }
  try {
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return misused(error);
    printError(error);
    process.exitCode = FAILED;
  }
}

/** Help and version come as errors too. */
function misused(error: CommanderError): void {
  if (error.exitCode === 0) return;
  process.exitCode = MISUSED;
  // Without a command the help was printed, which says everything.
  if (error.code === 'commander.help') return;
  const what = error.message.replace(/^error: /, '').replaceAll('\n', ' ');
  printError(
    new HoldfastError(
      'invalid_request',
      `${what.charAt(0).toUpperCase()}${what.slice(1)}${/[.)?]$/.test(what) ? '' : '.'}`,
      {
        hint: 'Read `holdfast --help`, or `holdfast <command> --help`.',
      },
    ),
  );
}
