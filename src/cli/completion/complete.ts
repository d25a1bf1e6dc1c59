import type { Argument, Command, Option } from 'commander';
import type { Client } from '../client.js';
import { connect } from '../connect.js';
import { withoutMarkdown } from '../help.js';
import { cut, plain, print } from '../print.js';

/** What may stand at a place of a command line, and what it is. */
export interface Candidate {
  readonly value: string;
  readonly about: string;
}

const TIMEOUT_MS = 1500;
const MOST = 100;

type Source = (client: Client, command: string) => Promise<readonly Candidate[]>;

const options = { timeoutMs: TIMEOUT_MS };
const page = { limit: MOST };

const agents: Source = async (client) =>
  (await client.listAgents(page, options)).items.map(({ name, tools }) => ({ value: name, about: tools.join(', ') }));

/** Values that a server has now. */
const SOURCES = {
  agents,
  runs: async (client, command) => {
    // Only these can be tried again.
    const status = command === 'retry' ? 'failed' : undefined;
    const { items } = await client.listRuns({ ...page, status }, options);
    return items.map((run) => ({ value: run.id, about: `${run.status} ${run.agent} ${run.createdAt}` }));
  },
  interruptions: async (client) =>
    (await client.listInterruptions({ ...page, status: 'pending' }, options)).items.map(({ id, tool, reason }) => ({
      value: id,
      about: `${tool ?? ''} ${reason.text}`.trim(),
    })),
  tasks: async (client) =>
    (await client.listTasks(page, options)).items.map(({ id, status }) => ({ value: id, about: status })),
  tools: async (client) => {
    const { items } = await client.listAgents(page, options);
    return [...new Set(items.flatMap(({ tools }) => tools))].map((value) => ({ value, about: '' }));
  },
  workers: async (client) =>
    (await client.listWorkers(page, options)).items.map(({ id, status }) => ({ value: id, about: status })),
  exports: async (client) =>
    (await client.listExports(page, options)).items.map(({ id, status }) => ({ value: id, about: status })),
  batches: async (client) =>
    (await client.listBatches(page, options)).items.map(({ key, tasks }) => ({ value: key, about: `${tasks} tasks` })),
  sessions: async (client) =>
    (await client.listSessions(page, options)).items.map(({ id }) => ({ value: id, about: '' })),
} satisfies { readonly [kind: string]: Source };

export type LiveKind = keyof typeof SOURCES;
export type LiveValues = (kind: LiveKind, command: string) => Promise<readonly Candidate[]>;

export const isLive = (kind: string): kind is LiveKind => Object.hasOwn(SOURCES, kind);

/** Asks the server. Where none answers soon, or none may be asked, there are none: a shell shows no errors while it completes. */
export const liveValues: LiveValues = async (kind, command) => {
  try {
    return await SOURCES[kind](connect(), command);
  } catch {
    return [];
  }
};

/** A file may stand there: the shell knows them. */
export const FILES = ':files';

const FILE_NAMES: ReadonlySet<string> = new Set(['file', 'directory', 'folder', 'out', 'harbor', 'from', 'batch']);

/** Which live values an argument or the value of an option is, by its name. */
const LIVE_NAMES: { readonly [name: string]: LiveKind } = {
  ...{ run: 'runs', runs: 'runs', a: 'runs', b: 'runs', parent: 'runs' },
  ...{ agent: 'agents', id: 'interruptions', worker: 'workers', export: 'exports', session: 'sessions' },
  ...{ tool: 'tools' },
};

/** The same where a command means something else by a name. */
const LIVE_OF_COMMAND: { readonly [command: string]: { readonly [name: string]: LiveKind } } = {
  agents: { name: 'agents' },
  show: { task: 'tasks' },
  cancel: { task: 'tasks' },
  requeue: { task: 'tasks' },
  batches: { key: 'batches' },
  list: { batch: 'batches' },
};

/** Names of options that mean no id, whatever they are called. */
const NO_LIVE: { readonly [command: string]: ReadonlySet<string> } = { emit: new Set(['id']) };

/** Candidates for the last one of these words, which may be empty, or `FILES`. */
export async function candidatesFor(
  program: Command,
  words: readonly string[],
  live: LiveValues,
): Promise<readonly Candidate[] | typeof FILES> {
  const current = words.at(-1) ?? '';
  const { command, rest } = commandIn(program, words.slice(0, -1));
  const found = await at(command, rest, current, live, program);
  return found === FILES ? FILES : found.filter(({ value }) => value.startsWith(current) && plain(value) === value);
}

async function at(
  command: Command,
  rest: readonly string[],
  current: string,
  live: LiveValues,
  program: Command,
): Promise<readonly Candidate[] | typeof FILES> {
  const before = rest.at(-1) ?? '';
  const open = optionOf(command, before);
  if (open !== undefined && takesValue(open)) return valuesOf(command, open.attributeName(), open.argChoices, live);
  if (current.startsWith('-')) return optionsOf(command, rest);
  if (command.commands.length > 0) return namesOf(command);
  if (command.name() === 'help') return namesOf(commandIn(program, rest).command);
  const argument = argumentAt(command, rest);
  return argument === undefined ? [] : valuesOf(command, argument.name(), argument.argChoices, live);
}

/** The command that the words name, and the words after its name. */
function commandIn(
  program: Command,
  words: readonly string[],
): { readonly command: Command; readonly rest: readonly string[] } {
  const [first, ...rest] = words;
  const next = program.commands.find((one) => one.name() === first);
  return next === undefined ? { command: program, rest: words } : commandIn(next, rest);
}

const optionOf = (command: Command, word: string): Option | undefined =>
  command.options.find(({ long, short }) => word !== '' && (word === long || word === short));

const takesValue = ({ required, optional }: Option): boolean => required || optional;

const namesOf = (command: Command): readonly Candidate[] =>
  command.commands.map((one) => ({ value: one.name(), about: withoutMarkdown(one.summary() || one.description()) }));

function optionsOf(command: Command, rest: readonly string[]): readonly Candidate[] {
  const left = command.options.filter(
    (one) => one.variadic || optionOf(command, one.long ?? '') === undefined || !rest.includes(one.long ?? ''),
  );
  return [
    ...left.map(({ long, short, description }) => ({
      value: long ?? short ?? '',
      about: withoutMarkdown(description),
    })),
    { value: '--help', about: 'print the help of the command' },
  ];
}

/** The argument that comes next. */
function argumentAt(command: Command, rest: readonly string[]): Argument | undefined {
  const given = rest.filter((word, index) => {
    const option = optionOf(command, rest[index - 1] ?? '');
    return !word.startsWith('-') && !(option !== undefined && takesValue(option));
  });
  const all = command.registeredArguments;
  const last = all.at(-1);
  return all[given.length] ?? (last?.variadic === true ? last : undefined);
}

function valuesOf(
  command: Command,
  name: string,
  choices: readonly string[] | undefined,
  live: LiveValues,
): Promise<readonly Candidate[]> | readonly Candidate[] | typeof FILES {
  if (choices !== undefined) return choices.map((value) => ({ value, about: '' }));
  const kind = LIVE_OF_COMMAND[command.name()]?.[name] ?? LIVE_NAMES[name];
  if (kind !== undefined && isLive(kind) && NO_LIVE[command.name()]?.has(name) !== true)
    return live(kind, command.name());
  return FILE_NAMES.has(name) || name === 'task' ? FILES : [];
}

const ABOUT = 80;

/** Prints what may stand in the place of the last word, one value a line, for the scripts of `completion`. */
export async function printCandidates(program: Command, words: readonly string[]): Promise<void> {
  const found = await candidatesFor(program, words, liveValues);
  if (found === FILES) return print(FILES);
  for (const { value, about } of found) print(`${value}\t${cut(plain(about), ABOUT)}`);
}
