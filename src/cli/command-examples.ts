import { type Example, TASK_EXAMPLES } from './commands/tasks/task-examples.js';

/** Examples of commands, by all their words. The help of a command and docs/cli.md (`npm run docs`) have the same ones. */
export const COMMAND_EXAMPLES: { readonly [command: string]: readonly Example[] } = {
  init: [
    ['Write a project in TypeScript into a new folder', 'holdfast init my-agents'],
    ['Write one in JavaScript, for pnpm', 'holdfast init my-agents --js --package-manager pnpm'],
    ['Add an agent to the project in this folder', 'holdfast init'],
  ],
  dev: [
    ['Serve the agents of this folder, and follow its changes', 'holdfast dev'],
    ['The same on port 3000, without a browser', 'holdfast dev --port 3000 --no-open'],
    ['Check the configuration alone', 'holdfast dev --check'],
  ],
  serve: [
    ['Serve the agents of this folder on port 3000', 'holdfast serve --port 3000'],
    ['Execute runs in one more process, without an API', 'holdfast serve --role worker'],
  ],
  console: [
    ['Open the console', 'holdfast console'],
    ['Print the address alone, for a browser elsewhere', 'holdfast console --no-open'],
  ],
  run: [
    ['Start a run, and wait for it', "holdfast run treasurer 'Pay the expense reports of June 2026.' --wait"],
    ['Read the input from stdin', 'holdfast run treasurer - --metadata @labels.json'],
    ['Start nothing twice, however often this is repeated', "holdfast run treasurer 'Pay for June.' --key june-2026"],
  ],
  wait: [
    ['Wait until a run is paused or over', 'holdfast wait run_1a1b'],
    ['Try again for an hour while no server answers', 'holdfast wait run_1a1b --retry-for 3600'],
  ],
  watch: [
    ['Watch a run until it is over', 'holdfast watch run_1a1b'],
    ['Give its events to a program', 'holdfast watch run_1a1b --json'],
  ],
  show: [
    ['Show a run', 'holdfast show run_1a1b'],
    ['Show it with what it waits for, as JSON', 'holdfast show run_1a1b --json'],
  ],
  runs: [
    ['List the newest runs', 'holdfast runs'],
    ['List what waits for people', 'holdfast runs --status paused --agent treasurer --limit 20'],
    ['List the runs that a run started', 'holdfast runs --parent run_1a1b'],
  ],
  agents: [
    ['List the agents', 'holdfast agents'],
    ['Show one of them', 'holdfast agents treasurer'],
  ],
  'plan show': [
    ['Show a plan', 'holdfast plan show invoice'],
    ['Draw it', 'holdfast plan show invoice --mermaid'],
  ],
  'plan check': [
    ['Check another plan in its place', 'holdfast plan check invoice ./invoice.json'],
    ['As JSON', 'holdfast plan check invoice ./invoice.json --json'],
  ],
  'plan run': [
    ['Start a run, and wait for it', 'holdfast plan run invoice \'{"id":"a1"}\' --wait'],
    ['Start it once, whatever is repeated', 'holdfast plan run invoice \'{"id":"a1"}\' --key a1'],
  ],
  'evolve propose': [
    ['Propose a patch', 'holdfast evolve propose clerk ./patch.json'],
    ['As JSON', 'holdfast evolve propose clerk ./patch.json --json'],
  ],
  'evolve status': [
    ['See how its versions do', 'holdfast evolve status clerk'],
    ['The versions of all agents', 'holdfast evolve status'],
  ],
  'evolve decide': [
    ['Approve a patch', 'holdfast evolve decide run_0f2c approve'],
    ['Reject it', "holdfast evolve decide run_0f2c reject -m 'It is rude.'"],
  ],
  'evolve rollout': [
    ['Give it to all new runs', 'holdfast evolve rollout clerk --share 100'],
    ['Give it to half of them', 'holdfast evolve rollout clerk --share 50'],
  ],
  'evolve rollback': [
    ['Take it back', "holdfast evolve rollback clerk -m 'Too many complaints.'"],
    ['Print what is left as JSON', "holdfast evolve rollback clerk -m 'Too many complaints.' --json"],
  ],
  inbox: [
    ['Decide what waits, one by one', 'holdfast inbox'],
    ['List it', 'holdfast inbox --list'],
    ['List payments that expire soon', 'holdfast inbox --tool transfer --expires-before 2026-01-31T09:30:00Z'],
  ],
  approve: [
    ['Approve a call as the model asked for it', 'holdfast approve int_5c1d'],
    [
      'Approve it with other arguments',
      'holdfast approve int_5c1d --arguments \'{"to": "alice", "amount": 50}\' -m \'Half of it now.\'',
    ],
    ['Approve later calls of the tool, too', 'holdfast approve int_5c1d --always'],
    ['Give a run that waits for money a new limit', 'holdfast approve int_5c1d --budget 2.50'],
  ],
  reject: [
    ['Reject a call; the model reads why', "holdfast reject int_5c1d -m 'The invoice is missing.'"],
    ['Reject a call, and print the interruption as JSON', "holdfast reject int_5c1d -m 'Not this week.' --json"],
  ],
  answer: [
    ['Answer a question with a text', 'holdfast answer int_5c1d \'"The second one."\''],
    [
      'Say what came of a call that a crash interrupted',
      'holdfast answer int_5c1d \'{"payment": "pay-8437", "amount": 12.5}\'',
    ],
  ],
  'standing-decisions': [
    ['List what later calls of a run need not ask for', 'holdfast standing-decisions run_1a1b'],
    ['Let them ask again', 'holdfast standing-decisions run_1a1b --revoke std_5c1d'],
  ],
  emit: [
    ['Say that one invoice was paid', 'holdfast emit invoice.paid \'{"cents": 1250}\' --key order-7 --id invoice-4711'],
    ['Say it to one run alone', 'holdfast emit shipment.arrived --run run_1a1b'],
  ],
  events: [
    ['Print the log of a run', 'holdfast events run_1a1b'],
    ['Follow it until the run is over', 'holdfast events run_1a1b --follow'],
    ['Read what the model says while it answers, as JSON', 'holdfast events run_1a1b --deltas --json'],
  ],
  find: [
    ['Find a text', "holdfast find run_1a1b 'order 1042'"],
    ['Find it, for a program', 'holdfast find run_1a1b refund --json'],
  ],
  ...TASK_EXAMPLES,
  artifacts: [
    ['List what was kept of an attempt', 'holdfast artifacts run_1a1b'],
    ['Read the patch of the agent', 'holdfast artifacts run_1a1b patch.diff --out patch.diff'],
  ],
  quality: [
    ['See how each language did', 'holdfast quality --by language'],
    ['See whether a day was worse', 'holdfast quality --by day --compare 2026-11-01 2026-11-02 --agent coder'],
  ],
  trajectories: [
    ['List good work', 'holdfast trajectories --agent treasurer --result success --min-reward 0.8'],
    ['List what one model did since a time', 'holdfast trajectories --model gpt-5-mini --from 2026-11-01T00:00:00Z'],
  ],
  trajectory: [
    ['Print a run as steps', 'holdfast trajectory run_1a1b'],
    ['Print it as JSON', 'holdfast trajectory run_1a1b --json'],
  ],
  steps: [
    ['Print one line of JSON for each step', 'holdfast steps run_1a1b'],
    ['Follow a run until it is over', 'holdfast steps run_1a1b --follow'],
  ],
  reward: [
    [
      'Say that a run was half of what was asked',
      "holdfast reward run_1a1b 0.5 --signal tests=1 --signal lint=0 --failed --reason 'It does not pass the linter.'",
    ],
    ['Say that it was done', 'holdfast reward run_1a1b 1 --passed'],
  ],
  export: [
    [
      'Export runs of one agent, and keep a tenth for validation',
      'holdfast export --format messages --to payer-july --agent payer --validation 0.1 --wait',
    ],
    [
      'Export good runs as Parquet into a bucket',
      'holdfast export --format messages --encoding parquet --to s3://training/july --min-reward 0.8',
    ],
  ],
  exports: [
    ['Read an export', 'holdfast exports exp_1a1b'],
    ['Stop it', 'holdfast exports exp_1a1b --cancel'],
  ],
  charges: [
    ['List what a run cost, call by call', 'holdfast charges run_1a1b'],
    ['Go on after the first fifty', 'holdfast charges run_1a1b --after 50'],
  ],
  spend: [
    ['Sum up by agent since a day', 'holdfast spend --by agent --from 2026-11-01'],
    ['Sum up what one agent cost on each day', 'holdfast spend --agent treasurer'],
  ],
  cancel: [
    ['Stop a run, and say why', "holdfast cancel run_1a1b -m 'Not needed any more.'"],
    ['Stop it without a reason', 'holdfast cancel run_1a1b'],
  ],
  delete: [
    ['Take back a run that has not begun', 'holdfast delete run_1a1b'],
    ['Print what was deleted', 'holdfast delete run_1a1b --json'],
  ],
  erase: [
    ['Erase one run', "holdfast erase run_1a1b -m 'Asked for on 3 March, ticket 812'"],
    ['See what of a subject would go', "holdfast erase --subject customer-7 -m 'Ticket 812' --dry-run"],
    ['Erase all of it', "holdfast erase --subject customer-7 -m 'Ticket 812' --cancel"],
  ],
  retention: [
    ['See what would go', 'holdfast retention --dry-run'],
    ['Let it go now', 'holdfast retention'],
  ],
  sessions: [
    ['List sessions', 'holdfast sessions'],
    ['Read one of them', 'holdfast sessions ann-and-the-treasurer --limit 20'],
    ['Remove it; its runs stay', 'holdfast sessions ann-and-the-treasurer --delete'],
  ],
  memory: [
    ['List the memory spaces', 'holdfast memory'],
    ['Read what is remembered of a customer', 'holdfast memory customers profile --owner customer-7'],
    ['Find documents by their meaning', "holdfast memory notes --near 'late deliveries'"],
    ['Forget it', "holdfast memory customers profile --owner customer-7 --forget -m 'ticket 812'"],
  ],
  fork: [
    [
      'Go on as if a call had given something else',
      'holdfast fork run_1a1b --at 12 --edits \'[{"callId": "call_pay", "outcome": {"type": "output", "output": {"paid": 5}}}]\'',
    ],
    ['Begin again with another model', 'holdfast fork run_1a1b --at 1 --model gpt-5-mini'],
  ],
  retry: [
    ['Go on from the last good point', 'holdfast retry run_1a1b'],
    ['Ask another model from there on', 'holdfast retry run_1a1b --model gpt-5-mini'],
  ],
  state: [
    ['Print the state at the end of a log', 'holdfast state run_1a1b'],
    ['Print it after one of the events', 'holdfast state run_1a1b --at 1200'],
  ],
  diff: [
    ['Compare a fork with its origin', 'holdfast diff run_1a1b run_2c2d'],
    ['Compare them for a program', 'holdfast diff run_1a1b run_2c2d --json'],
  ],
  verify: [
    ['Verify the log of a run', 'holdfast verify run_1a1b'],
    ['Verify a part of a long one', 'holdfast verify run_1a1b --from 1001 --to 2000'],
    ['Verify all logs, and the log over all runs', 'holdfast verify --all'],
  ],
  repair: [
    ['See what is broken', 'holdfast repair run_1a1b'],
    ['Go on from where the log is whole', 'holdfast repair run_1a1b --apply --accept call_5c1d'],
  ],
  replay: [
    ['Replay a run without any effect', 'holdfast replay run_1a1b'],
    ['Look only at what comes after an event', 'holdfast replay run_1a1b --from 12'],
    ['Ask the models again, for half a dollar at most', 'holdfast replay run_1a1b --live-model --max-usd 0.50'],
  ],
  proof: [
    ['Export what proves a run', 'holdfast proof export run_1a1b --out run_1a1b.proof.json'],
    ['Check it with a key that you trust', 'holdfast proof check run_1a1b.proof.json --key @log-key.pub'],
  ],
  checkpoint: [
    ['Print the newest checkpoint', 'holdfast checkpoint'],
    ['Sign what runs have done until now', 'holdfast checkpoint --now'],
  ],
  'signing-key': [
    ['Make a key', 'holdfast signing-key make /etc/holdfast/signing-key --name example.com/holdfast'],
    ['Put a new one in its place', 'holdfast signing-key rotate /etc/holdfast/signing-key --size 1200'],
  ],
  workers: [
    ['List the processes', 'holdfast workers'],
    ['Let one finish its work, and end', 'holdfast workers web-1 --stop drain'],
  ],
  work: [
    ['List what is not begun any more', 'holdfast work'],
    ['Let it begin again', "holdfast work --lift 'replay run_5f0c2a9e1b7d4c3f8a6e0d2b4c6f8a1e' --tenant acme"],
  ],
  stats: [
    ['See how the server is', 'holdfast stats'],
    ['Read the numbers from a program', 'holdfast stats --json'],
  ],
  queue: [
    ['See what waits', 'holdfast queue'],
    ['The same for a program', 'holdfast queue --json'],
  ],
  errors: [
    ['See what failed within a day', 'holdfast errors'],
    ['See what failed since a deploy', 'holdfast errors --from 2026-06-01T09:30:00Z'],
  ],
  budgets: [
    ['See what is left', 'holdfast budgets'],
    ['The same for a program', 'holdfast budgets --json'],
  ],
  alerts: [
    ['See what fires', 'holdfast alerts'],
    ['Silence a rule for two hours', "holdfast alerts --silence passes-fall --minutes 120 -m 'The image is rebuilt.'"],
  ],
  'webhook list': [
    ['See which webhooks fail', 'holdfast webhook list'],
    ['Read the same as JSON', 'holdfast webhook list --json'],
  ],
  access: [
    ['See who asked for what', 'holdfast access --limit 20'],
    ['See who decided about a run', 'holdfast access run_1a1b'],
  ],
  doctor: [
    ['Check this folder and machine', 'holdfast doctor'],
    ['Ask a model as the engine does', 'holdfast doctor --model ollama/qwen3'],
  ],
  preflight: [
    ['Check before a deploy', 'holdfast preflight'],
    ['See the runs that are safe, too', 'holdfast preflight --all'],
  ],
  migrate: [['Bring the database up to this build', 'holdfast migrate']],
  compact: [['Shrink the files of the embedded database', 'holdfast compact']],
  demo: [
    ['See a run survive three kills', 'holdfast demo'],
    ['See it with a model of your own', 'holdfast demo --model ollama/qwen3'],
  ],
  crashtest: [
    ['Kill runs of an agent at 30 moments', 'holdfast crashtest treasurer'],
    [
      'At more moments, with the results as JUnit XML',
      "holdfast crashtest treasurer 'Pay for June.' --kills 200 --junit crash.xml",
    ],
  ],
  bench: [
    ['Measure 50 runs of an agent', 'holdfast bench treasurer'],
    [
      'Eight at once on a PostgreSQL, as JSON',
      'holdfast bench treasurer --runs 500 --concurrency 8 --database "$URL" --json',
    ],
  ],
  completion: [
    ['bash, in ~/.bashrc', 'source <(holdfast completion bash)'],
    ['zsh, in ~/.zshrc, after compinit', 'source <(holdfast completion zsh)'],
    ['fish, once', 'holdfast completion fish > ~/.config/fish/completions/holdfast.fish'],
  ],
};
