import { type CommandText, PROGRAM_TEXTS } from './program-texts.js';

/**
 * Texts of commands, by all their words. The help of a command and docs/cli.md (`npm run docs`) have the same ones; what an
 * option does is said where the option is declared.
 */
export const COMMAND_TEXTS: { readonly [command: string]: CommandText } = {
  init: {
    about:
      'Writes a project that runs at once. It has an agent, a tool that asks a person, a test, a ' +
      '`.gitignore`, and a scripted model that needs no key. Then it prints the commands that come ' +
      'next. No file is written over: a `package.json`, `tsconfig.json` or `.gitignore` stays as it ' +
      'is, and where another file is there already, nothing is written.',
  },
  dev: {
    about:
      'Serves as `holdfast serve` does, opens the [console](console.md), and watches the configuration and the files that it ' +
      'imports by a relative path. After a change, a process of its own loads the new configuration while the old server ' +
      'works. If it loads, a new server takes the place of the old one. Paused and running runs go on there: a run in ' +
      'flight is cut at its next turn. If it does not load, the error is printed and the old server stays. ' +
      'Logs begin at `warn`, unless `HOLDFAST_LOG_LEVEL` is set.',
  },
  serve: {
    about:
      'Serves the API and executes runs of the agents in `holdfast.config.ts` of the working ' +
      'directory, or in the file that `HOLDFAST_CONFIG` names. The ending may also be `.mts`, `.js`, ' +
      '`.mjs` or `.cjs`. `holdfast init` writes one. It prints where it listens and with which token, and logs JSON lines to ' +
      'stderr.\n\nSIGHUP reads the [file of tokens](reference/tokens.md) again and stops ' +
      'nothing. SIGTERM and SIGINT stop it within `HOLDFAST_SHUTDOWN_GRACE_MS`; a second one ' +
      'ends it at once. What was in flight is cut at its next turn, or goes on at the next start ' +
      'or in [another worker](operate/workers.md).',
  },
  console: {
    about:
      'Opens the [console](console.md) of the server in a browser, signed in as the token of this command. ' +
      'The address holds a code that works once, within a minute. Where the output is no terminal, it only prints the address.',
  },
  run: {
    about: 'Starts a run and prints its id. The input `-` is read from stdin.',
  },
  wait: {
    about:
      'Waits until a run is paused or over, and prints it. A [restart of the ' +
      'server](#a-server-that-restarts) is waited for. The exit code is 1 if the run failed or ' +
      'was cancelled.',
  },
  watch: {
    about:
      'Tells what a run does while it does it: what was asked, what the model says, each call with ' +
      'its outcome, and who decided what. It ends with the run, and goes on after a [restart of ' +
      'the server](#a-server-that-restarts). At a terminal, answers of a ' +
      '[streaming](models/streaming.md) run appear word by word. The exit code is 1 if the run failed ' +
      'or was cancelled.',
  },
  show: {
    about:
      'Shows a run: its status, its input and output, why it is queued and what it waits for. ' +
      'Then come the runs that it started, and commands that fit.',
  },
  runs: {
    about: 'Lists runs, newest first.',
  },
  agents: {
    about:
      'Lists the agents that runs can be started of. With a name it shows one: its model, tools, ' +
      '[grants](agents/grants.md), and [marks](replay/replay-a-run.md) of its tools.',
  },
  'plan show': {
    about: 'Shows the nodes of a plan, what each comes after, and every capability that it can need.',
  },
  'plan check': {
    about:
      'Checks a plan in a JSON file with the tools and the grants of a plan of the server. ' +
      'It prints every place that is wrong, and keeps nothing.',
  },
  'plan run': {
    about: 'Starts a run of a plan, as `run` does. Where the plan has a schema of its input, the input is JSON.',
  },
  'evolve propose': {
    about:
      'Starts a run of the agent `evolve`, which judges and tries a [patch](agents/evolution.md), and then waits for people. ' +
      'The file is a JSON object with `patch` and `reason`, and may have `cases`, `share` and `measure`.',
  },
  'evolve status': {
    about:
      'Shows the versions of an agent, or of all, that patches made: their share of new runs, and how many of their runs completed.',
  },
  'evolve decide': {
    about:
      'Approves or rejects a patch that was tried. Several people must approve it, none of them the one who proposed it. ' +
      '`holdfast inbox` shows the report.',
  },
  'evolve rollout': {
    about:
      'Gives the live version of an agent to another share of its new runs. Runs that have begun keep what they have.',
  },
  'evolve rollback': {
    about: 'Takes the live version of an agent back. New runs have the definition of the configuration.',
  },
  inbox: {
    about:
      'At a terminal it shows what waits for a decision, one by one, and asks what to do. Write a ' +
      'word or its first letters: `approve`, `edit` (the arguments, in `VISUAL` or `EDITOR`), ' +
      '`always`, `reject`, `answer`, `story`, `next`, `quit`. A message may follow the word. A ' +
      'decision counts only for what was shown. Elsewhere, and with `--list`, it lists the calls, ' +
      'why each waits, and which verdicts it takes.',
  },
  approve: {
    about:
      'Approves what a run waits for. When nothing else of the run waits, the run resumes. ' +
      '[Approvals](approvals/README.md) explains edits and scopes.',
  },
  reject: {
    about: 'Rejects what a run waits for. The model reads the message in place of a result.',
  },
  answer: {
    about:
      'Answers a question of a run, as JSON. A call that was begun before a crash and may have ' +
      'happened takes the answer as its result.',
  },
  'standing-decisions': {
    about:
      'Lists the approvals of a run that hold for later calls, or revokes one: from the next ' +
      'segment on, calls ask again.',
  },
  emit: {
    about:
      'Tells runs that something happened. Every run that waits for it resumes. If none does, ' +
      'the event is kept for the first run that waits for it.',
  },
  events: {
    about: 'Prints the event log of a run.',
  },
  find: {
    about: 'Finds a text in the payloads of the log of a run. It reads at most 5,000 events, and says where to go on.',
  },
  'task new': {
    about:
      'Writes a directory with a [task](tasks/README.md) that works, to be changed. It must not be ' + 'there yet.',
  },
  'task check': {
    about:
      'Says what is wrong with a task, field by field; the exit code is 1 then. It is a ' +
      'definition file (YAML or JSON), a directory with a `task.yaml` or one of Harbor, or the ' +
      'name of a task that ships. Nothing is asked of a server.',
  },
  'task validate': {
    about:
      '[Tries tasks](tasks/validate.md) in containers: with their reference solution, and with nothing. Says of each whether ' +
      'it is right, and which test is flaky. The exit code is 1 unless all are right. No server and no model takes part.',
  },
  'task duplicates': {
    about:
      'Finds [tasks that say nearly the same](tasks/registry.md#duplicates): with each other, or with those of `--against`. ' +
      'The exit code is 1 if there are some. Nothing is asked of a server.',
  },
  'task import': {
    about:
      'Makes a definition of a task directory of [Harbor](tasks/harbor.md), or a definition of each task of a ' +
      '[benchmark](tasks/benchmarks.md). It says what did not fit. The exit code is 1 where an item of a benchmark was left out.',
  },
  'task export': {
    about: 'Writes a task as a task directory of Harbor, and says what Harbor does not know.',
  },
  'task submit': {
    about:
      'Submits a [task](tasks/README.md): a definition file, a directory, the name of one that ships, ' +
      'or `<name>@<version>` of a definition that the server knows. Prints its id.',
  },
  'task run': {
    about:
      'Submits a task, waits until it is over, and prints its result, its reward with each ' +
      'signal, and where its trajectory is. The exit code is 0 if it is a success, else 1, also ' +
      'where it waits for a person.',
  },
  'task list': {
    about: 'Lists tasks, newest first.',
  },
  'task show': {
    about: 'Shows a task: its status, its result and reward, and the run that executes it.',
  },
  'task cancel': {
    about: 'Cancels a task with its run. One that works is asked to stop. Nothing of its container is ' + 'left.',
  },
  'task requeue': {
    about:
      'Gives a [dead task](tasks/dead-tasks.md#dead-tasks) new attempts: one that failed by an error, and ' +
      'that no attempt follows. Needs the role `admin`.',
  },
  'task rates': {
    about:
      'Prints how often each agent passes tasks: [pass@k](tasks/pass-rates.md) with its interval of 95 %, over the attempts ' +
      'that fit.',
  },
  'task register': {
    about:
      'Keeps definitions in the [registry](tasks/registry.md) of the server, without submitting them. Prints name, version ' +
      'and digest of each. The same definition again changes nothing.',
  },
  'task definitions': {
    about: 'Lists the definitions of the [registry](tasks/registry.md), the last registered first.',
  },
  'task read': {
    about: 'Prints a definition of the [registry](tasks/registry.md) as YAML, with its tests and its solution.',
  },
  'task diff': {
    about:
      'Compares two versions of a task, field by field. The exit code is 1 if they differ in more than the version.',
  },
  'task deprecate': {
    about:
      'Deprecates a definition: the server refuses to submit it, and names the reason. Tasks that were submitted before go ' +
      'on. `--undo` takes the deprecation back.',
  },
  'dataset create': {
    about:
      'Registers the given tasks, and keeps them as a [dataset](tasks/registry.md#datasets). The same dataset again changes ' +
      'nothing; another set under the same name and version is refused.',
  },
  'dataset list': {
    about: 'Lists [datasets](tasks/registry.md#datasets), newest first.',
  },
  'dataset show': {
    about: 'Shows a [dataset](tasks/registry.md#datasets) and its tasks, by their names.',
  },
  'dataset duplicates': {
    about:
      'Finds [tasks that say nearly the same](tasks/registry.md#duplicates) in a dataset, or in one and another one. ' +
      'The exit code is 1 if there are some.',
  },
  batches: {
    about:
      'Lists [batches of tasks](tasks/batches.md), newest first. With a key it shows one: what became of its tasks, ' +
      'their rewards and cost, and by what they failed. `--cancel` cancels those that are open.',
  },
  artifacts: {
    about:
      'Lists the [artifacts](tasks/artifacts.md) of a run: a patch, files and output of commands. With a name it reads one.',
  },
  quality: {
    about:
      'Prints [how groups of tasks did](tasks/quality.md): passes, rewards, scores, turns, tokens, time and cost. ' +
      '`--compare` tests whether the second of two groups did otherwise than by chance.',
  },
  trajectories: {
    about: 'Lists [trajectories](data/trajectory-lists.md), newest first.',
  },
  trajectory: {
    about: 'Prints a run as steps: what the model said and asked for, and what came of it.',
  },
  steps: {
    about: 'Prints a run as [lines of JSON, one for each step](operate/step-lines.md), with reward, time and tokens.',
  },
  reward: {
    about: 'Says what a run was [worth](data/trajectories.md#rewards), also after it is over.',
  },
  export: {
    about:
      'Exports trajectories as [training data](data/export.md), into a folder of the server, an ' +
      '[object store](data/export-object-stores.md) or a [Hugging Face Hub](data/hub.md).',
  },
  exports: {
    about: 'Lists exports, newest first, or reads one.',
  },
  charges: {
    about: 'Lists what the model calls of a run [cost](models/prices.md#charges).',
  },
  spend: {
    about: 'Sums up what was spent, by day, agent or model.',
  },
  cancel: {
    about: 'Asks a run to stop. A model call or a tool in flight is aborted.',
  },
  delete: {
    about: 'Removes a run that has not begun, [as if it had never been ' + 'started](operate/dispatch.md#taking-back).',
  },
  erase: {
    about:
      'Erases the content of a run that is over, or of all runs of a ' +
      '[subject](operate/erasure.md#erasing-a-subject), for good. Their logs still verify.',
  },
  retention: {
    about:
      'Has a worker do now what the [retention](operate/retention.md#retention) of the ' +
      'configuration says, for the tenant of the token, and prints what goes.',
  },
  sessions: {
    about:
      'Lists sessions, newest first, and which run is in each; with an id, the items of that ' + 'session in order.',
  },
  memory: { about: 'Lists [memory](agents/memory.md) spaces or documents, or reads one with its history.' },
  fork: {
    about:
      'Starts a run that has the log of another one up to an event, with edits, and goes on live ' +
      'from there: [forks](replay/forks.md).',
  },
  retry: {
    about: 'Goes on from the last good point of a failed run, in a new run.',
  },
  state: {
    about: 'Prints the [state](events.md#state) that the log of a run folds to, after any of its ' + 'events.',
  },
  diff: {
    about:
      'Shows [where two runs part](replay/compare.md): what each says there, and ' +
      'what each did from there on. The exit code is 1 if they do.',
  },
  verify: {
    about:
      'Verifies the logs of runs, or all of them. The exit code is 1 if one is broken; the first ' +
      'broken event of each is named, and which [invariant](events.md#invariants) it breaks. Of ' +
      'one run it also says up to where its log is [anchored](evidence/README.md) by a signed ' +
      'checkpoint. `--all` verifies the [log over all runs](evidence/README.md) once too, if the token ' +
      'has a role in the [installation](reference/tokens.md#the-installation). It says how many runs are ' +
      'anchored with their last event; on a terminal it says how far it is.',
  },
  repair: {
    about:
      'Says what is broken of the log of a run, up to where it is whole, and what came after ' +
      'that. With `--apply`, a run of its own [goes on](evidence/repair.md) from there. ' +
      'Repeating it gives the same run.',
  },
  replay: {
    about:
      'Replays a run against the agents of the server, [without ' +
      'effect](replay/replay-a-run.md), and names where they diverge from the log. The exit ' +
      'code is 1 if they do, and 3 if the run cannot be replayed.',
  },
  proof: {
    about:
      'Exports what proves the log of a run, or checks such a file [without a ' +
      'server](evidence/proofs.md). The exit code is 1 if it proves nothing.',
  },
  checkpoint: {
    about:
      'Prints the newest signed checkpoint of the [log over all runs](evidence/README.md), and the ' + 'public keys.',
  },
  'signing-key': {
    about:
      'Makes the key that signs checkpoints, in a file of mode 600. `rotate` puts a new one in ' +
      'its place, `revoke` says that an earlier one is believed no further ' +
      '([evidence](evidence/keys.md)). Prints the public key. Talks to no server; one that ' +
      'runs reads the file again before it signs.',
  },
  workers: {
    about:
      'Lists the processes of the database, what each executes and whether it lives; with an id, ' +
      'one of them. See [workers](operate/workers.md). Below the list it names what runs in the queue ' +
      '[require](operate/worker-requirements.md) and no worker has. It takes a role in the ' +
      '[installation](reference/tokens.md#the-installation): to stop one, `operator`.',
  },
  work: {
    about:
      'Lists [work that is not begun any more](operate/crash-limits.md#work-that-kills-its-workers) ' +
      'since processes died with it, of all tenants, or has it begun again. It takes a role in ' +
      'the [installation](reference/tokens.md#the-installation): to lift, `operator`.',
  },
  stats: {
    about:
      'Says how the server is, and counts the runs and tasks of the tenant, what ended lately, ' +
      'rewards, tokens and dollars.',
  },
  queue: {
    about: 'Counts the runs that are queued and at work, by agent, with the limits that hold for them.',
  },
  errors: {
    about:
      'Groups what runs failed with by its [code](errors.md), the most frequent first. Without a range: of the last day.',
  },
  budgets: {
    about: 'Lists the [budgets](models/budgets.md) of agents and of the tenant, with what is spent of each.',
  },
  alerts: {
    about:
      'Lists the [alert rules](operate/alerts.md) of the configuration with their states. `--silence` has no event tell of one ' +
      'for a while; that takes the role `operator`.',
  },
  'webhook list': {
    about:
      'Lists the [webhooks](operate/webhooks.md) of the configuration: how many events each was told of, and why the next one ' +
      'fails.',
  },
  access: {
    about:
      'Lists who asked for what, from the [access log](schema.md#access_log), newest first. With a run, it lists what ' +
      'concerns the run, its task and what it waited for. It needs the role `admin`.',
  },
  ...PROGRAM_TEXTS,
};
