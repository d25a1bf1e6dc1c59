import type { Command } from 'commander';
import type { CliServices } from './cli-services.js';
import { withTexts } from './help.js';

interface CommandEntry {
  /** One line of the help of the program. */
  readonly summary: string;
  readonly load: (services: CliServices) => Promise<Command>;
}

/** Every command by its name. A module is loaded when the command line names its command, so that the others take no time. */
export const COMMANDS: { readonly [name: string]: CommandEntry } = {
  init: {
    summary: 'Write a project: an agent, a tool, a test, and a model that needs no key.',
    load: async () => (await import('./commands/start/init.js')).initCommand(),
  },
  dev: {
    summary: 'Serve, and start again with every change of the configuration.',
    load: async (services) => (await import('./commands/server/dev.js')).devCommand(services),
  },
  serve: {
    summary: 'Serve the API and execute runs, until SIGTERM or SIGINT.',
    load: async (services) => (await import('./commands/server/serve.js')).serveCommand(services),
  },
  console: {
    summary: 'Open the console in a browser, signed in.',
    load: async () => (await import('./commands/server/console.js')).consoleCommand(),
  },
  run: {
    summary: 'Start a run of an agent.',
    load: async () => (await import('./commands/runs/run.js')).runCommand(),
  },
  wait: {
    summary: 'Wait until a run is paused or over.',
    load: async () => (await import('./commands/runs/wait.js')).waitCommand(),
  },
  watch: {
    summary: 'Tell what a run does while it does it, until it is over.',
    load: async () => (await import('./commands/runs/watch.js')).watchCommand(),
  },
  show: {
    summary: 'Show a run: what it was asked, how it is, what it waits for, and what to do next.',
    load: async () => (await import('./commands/runs/show.js')).showCommand(),
  },
  runs: {
    summary: 'List runs, newest first.',
    load: async () => (await import('./commands/runs/runs.js')).runsCommand(),
  },
  agents: {
    summary: 'List the agents that runs can be started of, or show one.',
    load: async () => (await import('./commands/server/agents.js')).agentsCommand(),
  },
  plan: {
    summary: 'Show, check and run plans.',
    load: async () => (await import('./commands/plans/plan.js')).planCommand(),
  },
  evolve: {
    summary: 'Propose, decide and take back patches of agents.',
    load: async () => (await import('./commands/evolution/evolve.js')).evolveCommand(),
  },
  inbox: {
    summary: 'Decide what waits for a decision, one by one; elsewhere than at a terminal, list it.',
    load: async () => (await import('./commands/inbox/inbox.js')).inboxCommand(),
  },
  approve: {
    summary: 'Approve what a run waits for.',
    load: async () => (await import('./commands/inbox/decide.js')).approveCommand(),
  },
  reject: {
    summary: 'Reject what a run waits for.',
    load: async () => (await import('./commands/inbox/decide.js')).rejectCommand(),
  },
  answer: {
    summary: 'Answer a question of a run, or say what a call of unknown effect gave.',
    load: async () => (await import('./commands/inbox/decide.js')).answerCommand(),
  },
  'standing-decisions': {
    summary: 'List the approvals of a run that hold for later calls, or revoke one.',
    load: async () => (await import('./commands/inbox/standing-decisions.js')).standingDecisionsCommand(),
  },
  emit: {
    summary: 'Tell runs that something happened.',
    load: async () => (await import('./commands/runs/emit.js')).emitCommand(),
  },
  events: {
    summary: 'Print the event log of a run.',
    load: async () => (await import('./commands/runs/events.js')).eventsCommand(),
  },
  find: {
    summary: 'Find a text in the payloads of the log of a run.',
    load: async () => (await import('./commands/runs/find.js')).findCommand(),
  },
  task: {
    summary: 'Make, check, submit and follow tasks.',
    load: async () => (await import('./commands/tasks/task.js')).taskCommand(),
  },
  dataset: {
    summary: 'Make, list, read and compare datasets of tasks.',
    load: async () => (await import('./commands/tasks/dataset.js')).datasetCommand(),
  },
  batches: {
    summary: 'List batches of tasks, newest first, or show one.',
    load: async () => (await import('./commands/tasks/batches.js')).batchesCommand(),
  },
  artifacts: {
    summary: 'List what was kept of an attempt at a task, or read it.',
    load: async () => (await import('./commands/tasks/artifacts.js')).artifactsCommand(),
  },
  quality: {
    summary: 'Print how groups of tasks did, or compare two of them.',
    load: async () => (await import('./commands/tasks/quality.js')).qualityCommand(),
  },
  trajectories: {
    summary: 'List trajectories, newest first.',
    load: async () => (await import('./commands/runs/trajectories.js')).trajectoriesCommand(),
  },
  trajectory: {
    summary: 'Print a run as steps: what the model said and asked for, and what came of it.',
    load: async () => (await import('./commands/runs/trajectory.js')).trajectoryCommand(),
  },
  steps: {
    summary: 'Print one line of JSON for each step of a run.',
    load: async () => (await import('./commands/runs/steps.js')).stepsCommand(),
  },
  reward: {
    summary: 'Say what a run was worth, also after it is over.',
    load: async () => (await import('./commands/runs/reward.js')).rewardCommand(),
  },
  export: {
    summary: 'Export trajectories as training data, into a folder of the server or an object store.',
    load: async () => (await import('./commands/exports/export.js')).exportCommand(),
  },
  exports: {
    summary: 'List exports, newest first, or read one.',
    load: async () => (await import('./commands/exports/exports.js')).exportsCommand(),
  },
  charges: {
    summary: 'List what the model calls of a run cost.',
    load: async () => (await import('./commands/runs/charges.js')).chargesCommand(),
  },
  spend: {
    summary: 'Sum up what was spent, by day, agent or model.',
    load: async () => (await import('./commands/runs/spend.js')).spendCommand(),
  },
  cancel: {
    summary: 'Ask a run to stop.',
    load: async () => (await import('./commands/runs/cancel.js')).cancelCommand(),
  },
  delete: {
    summary: 'Remove a run that has not begun.',
    load: async () => (await import('./commands/runs/delete.js')).deleteCommand(),
  },
  erase: {
    summary: 'Erase the content of a run that is over, or of all runs of a subject, for good; logs still verify.',
    load: async () => (await import('./commands/retention/erase.js')).eraseCommand(),
  },
  retention: {
    summary: 'Have a worker do now what the retention of the configuration says, and print what goes.',
    load: async () => (await import('./commands/retention/retention.js')).retentionCommand(),
  },
  sessions: {
    summary: 'List sessions, newest first, or the items of one.',
    load: async () => (await import('./commands/runs/sessions.js')).sessionsCommand(),
  },
  memory: {
    summary: 'List memory spaces, the documents of one, or read a document with its history.',
    load: async () => (await import('./commands/memory/memory.js')).memoryCommand(),
  },
  fork: {
    summary: 'Start a run from an event of another one, with edits.',
    load: async () => (await import('./commands/runs/fork.js')).forkCommand(),
  },
  retry: {
    summary: 'Go on from the last good point of a failed run, in a new run.',
    load: async () => (await import('./commands/runs/fork.js')).retryCommand(),
  },
  state: {
    summary: 'Print the state that the log of a run folds to, after any of its events.',
    load: async () => (await import('./commands/runs/state.js')).stateCommand(),
  },
  diff: {
    summary: 'Show where two runs part; exit code 1 if they do.',
    load: async () => (await import('./commands/runs/diff.js')).diffCommand(),
  },
  verify: {
    summary: 'Verify the event logs of runs; exit code 1 if one is broken.',
    load: async () => (await import('./commands/evidence/verify.js')).verifyCommand(),
  },
  repair: {
    summary: 'Say what a broken log has lost; with --apply, go on from its last whole event in a new run.',
    load: async () => (await import('./commands/runs/fork.js')).repairCommand(),
  },
  replay: {
    summary:
      'Hold the agents of today against the log of a run; exit code 1 if they part from it, 3 if it cannot be replayed.',
    load: async () => (await import('./commands/runs/replay.js')).replayCommand(),
  },
  proof: {
    summary: 'Export what proves the log of a run, or check it without a server; exit code 1 if it proves nothing.',
    load: async () => (await import('./commands/evidence/proof.js')).proofCommand(),
  },
  checkpoint: {
    summary: 'Print the newest signed checkpoint of the log over all runs.',
    load: async () => (await import('./commands/evidence/checkpoint.js')).checkpointCommand(),
  },
  'signing-key': {
    summary: 'Make, replace or revoke the key that signs checkpoints of the log, in a file, and print its public key.',
    load: async () => (await import('./commands/evidence/signing-key.js')).signingKeyCommand(),
  },
  workers: {
    summary: 'List the processes of the database, or ask one to stop.',
    load: async () => (await import('./commands/server/workers.js')).workersCommand(),
  },
  work: {
    summary: 'List work that is not begun any more, since processes died with it, or have it begun again.',
    load: async () => (await import('./commands/runs/work.js')).workCommand(),
  },
  stats: {
    summary: 'Say how the server is, and count runs, tasks, rewards, tokens and dollars.',
    load: async () => (await import('./commands/server/stats.js')).statsCommand(),
  },
  queue: {
    summary: 'Count the runs that are queued and at work, by agent.',
    load: async () => (await import('./commands/server/overview.js')).queueCommand(),
  },
  errors: {
    summary: 'Group what runs failed with by its code, of the last day.',
    load: async () => (await import('./commands/server/overview.js')).errorsCommand(),
  },
  budgets: {
    summary: 'List the budgets of agents and of the tenant, with what is spent of each.',
    load: async () => (await import('./commands/server/overview.js')).budgetsCommand(),
  },
  alerts: {
    summary: 'List alert rules with their states, or silence one.',
    load: async () => (await import('./commands/server/alerts.js')).alertsCommand(),
  },
  webhook: {
    summary: 'List webhooks with what they were told, and why one fails.',
    load: async () => (await import('./commands/server/webhook.js')).webhookCommand(),
  },
  access: {
    summary: 'List who asked for what, newest first.',
    load: async () => (await import('./commands/server/access.js')).accessCommand(),
  },
  doctor: {
    summary: 'Check what a server needs here; exit code 1 if something is wrong.',
    load: async (services) => (await import('./doctor/doctor.js')).doctorCommand(services),
  },
  preflight: {
    summary:
      'Replay every paused and running run against this build; exit code 1 if one would strand, 3 if one needs attention.',
    load: async (services) => (await import('./commands/runs/preflight.js')).preflightCommand(services),
  },
  migrate: {
    summary: 'Bring the database up to this build; `serve` does it too.',
    load: async () => (await import('./commands/server/migrate.js')).migrateCommand(),
  },
  compact: {
    summary: 'Take what was deleted out of the files of the embedded database, while no server works on it.',
    load: async () => (await import('./commands/server/compact.js')).compactCommand(),
  },
  demo: {
    summary: 'Show a run that survives three kills, in a directory of its own that is removed afterwards.',
    load: async (services) => (await import('./commands/server/demo.js')).demoCommand(services),
  },
  crashtest: {
    summary: 'Kill runs of an agent at one moment after the other, and say what came of them.',
    load: async () => (await import('./commands/start/crashtest.js')).crashTestCommand(),
  },
  bench: {
    summary: 'Execute runs of an agent, and print how fast they are and what they store.',
    load: async (services) => (await import('./commands/start/bench.js')).benchCommand(services),
  },
  completion: {
    summary: 'Print the script that makes a shell complete commands, options, ids and names of agents.',
    load: async () => (await import('./commands/start/completion.js')).completionCommand(),
  },
};

/** A command with the texts of its help. */
export const loadCommand = async ({ summary, load }: CommandEntry, services: CliServices): Promise<Command> =>
  withTexts((await load(services)).summary(summary));

/** All of them, which the documentation and the tests read. */
export async function loadCommands(services: CliServices): Promise<readonly Command[]> {
  const loaded: Command[] = [];
  for (const entry of Object.values(COMMANDS)) loaded.push(await loadCommand(entry, services));
  return loaded;
}
