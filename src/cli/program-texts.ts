export interface CommandText {
  /** What the command does, in Markdown. The help shows it without its links. */
  readonly about: string;
}

/** Which commands stand together in the help. */
export const COMMAND_GROUPS: { readonly [title: string]: readonly string[] } = {
  'Get started': [
    'init',
    'dev',
    'serve',
    'console',
    'run',
    'agents',
    'plan',
    'evolve',
    'demo',
    'doctor',
    'crashtest',
    'bench',
    'completion',
    'help',
  ],
  Runs: [
    'runs',
    'show',
    'watch',
    'wait',
    'events',
    'find',
    'cancel',
    'delete',
    'emit',
    'sessions',
    'memory',
    'fork',
    'retry',
  ],
  Decisions: ['inbox', 'approve', 'reject', 'answer', 'standing-decisions'],
  'What a run did': [
    'trajectory',
    'steps',
    'state',
    'diff',
    'replay',
    'verify',
    'repair',
    'proof',
    'checkpoint',
    'signing-key',
  ],
  'Tasks and training data': [
    ...['task', 'dataset', 'batches', 'artifacts', 'quality', 'trajectories', 'reward', 'export', 'exports'],
  ],
  'Money and privacy': ['charges', 'spend', 'erase', 'retention'],
  Operation: [
    'workers',
    'work',
    'stats',
    'queue',
    'errors',
    'budgets',
    'alerts',
    'webhook',
    'access',
    'preflight',
    'migrate',
    'compact',
  ],
};

/** Texts of the commands that look after the program itself: part of `COMMAND_TEXTS`. */
export const PROGRAM_TEXTS: { readonly [command: string]: CommandText } = {
  doctor: {
    about:
      'Checks what a server needs here: Node, the settings, the port, the data directory, the token files, ' +
      'the configuration file, and the [key](evidence/keys.md) that signs checkpoints. It checks the ' +
      'database and its schema, and the [container engine](operate/docker.md) with the images that ' +
      'agents name. It lists [strays](operate/deploys.md#strays), which are runs that are stuck, ' +
      'with what to do about them. Each is `ok`, `warn` or `fail` with the way out; the exit ' +
      'code is 1 when one fails. It changes nothing.',
  },
  preflight: {
    about:
      'Replays every paused, queued and running run against the build and configuration that are ' +
      'here, before they are [deployed](operate/deploys.md#preflight). Each is safe, needs attention or ' +
      'would strand, with the reasons. The exit code is 1 when one would strand, 3 when one ' +
      'needs attention. It changes nothing.',
  },
  migrate: {
    about: 'Brings the database up to this build, all of it or nothing. `serve` does it too.',
  },
  compact: {
    about:
      'Takes what was deleted out of the files of the embedded database: it rewrites every table ' +
      'and begins a new write-ahead log. Stop the server first. A server does the same by itself ' +
      '[after an erasure](operate/erased-data.md#what-is-left-on-the-disk).',
  },
  demo: {
    about:
      'Starts a server in a temporary directory and gives its agent a job over HTTP. It kills the ' +
      'server with SIGKILL in the middle of a model call, in the middle of a payment and while ' +
      'the run is paused. It restarts the server each time, decides over HTTP, and checks what came of it. ' +
      'The exit code is 0 only if every payment was made exactly once and the log verifies.',
  },
  crashtest: {
    about:
      'Executes a run of an agent of the configuration in processes and databases of its own, first once to its end. Then it ' +
      'does so once for each moment at which it kills the process with SIGKILL and starts another one. The moments are before and after each ' +
      'body of a tool, and around statements that make something durable. A careful person decides: it approves what is ' +
      'asked, and where a call may have happened it looks and says what the call gave. Questions and events rest ' +
      'unanswered.\n\nThe tools of the configuration really execute, each as often as there are moments. Give them test ' +
      'accounts, and agents scripted or [recorded](models/cassettes.md) models, which answer the same each time. ' +
      '[Crash tests](replay/crash-tests.md#of-your-own-agents) has the verdicts.',
  },
  bench: {
    about:
      'Executes runs of an agent of the configuration in this process, on an embedded database in a temporary folder, and ' +
      'approves what they ask. One run before them is not measured. It prints runs and steps a second, how long a run takes, ' +
      'what its tables grew by, and the overhead of a step. That is the working time of a run without its models and tools, divided ' +
      'by its steps. With more than one run at once, the overhead has the time in which they wait for each other.\n\n' +
      'The tools of the configuration really execute. Give them test accounts, and agents scripted or ' +
      '[recorded](models/cassettes.md) models. The exit code is 1 when a run did not complete.',
  },
  completion: {
    about:
      'Prints the script that makes bash, zsh or fish complete commands, options and their values. ' +
      'Ids of runs, tasks, workers and exports, what waits for a decision, and names of agents come ' +
      'from the server. Where none answers within a second and a half, they are left out.',
  },
};
