import { HoldfastError } from './errors.js';
import { fieldErrorsOf } from './field-errors.js';
import { type HarborConfig, harborConfig, mebibytesOf, slugOf, tagsIn, unreadKeys } from './harbor-config.js';
import { absolute, type Dockerfile, readDockerfile } from './harbor-dockerfile.js';
import { type KeptTask, keptTask } from './harbor-kept.js';
import { harborCommand, REWARD_FILES, SOLUTION_DIR, shellOf, toHarbor, toHere } from './harbor-places.js';
import type { JsonObject } from './json.js';
import { DIFFICULTIES, parseTask, type TaskDefinition, type TaskInput } from './task-definition.js';
import type { TaskFile, TaskFiles } from './task-file.js';
import { literally } from './task-template.js';

/** A directory of Harbor, read. */
export interface HarborFolder {
  readonly name: string;
  /** `task.toml` as JSON. */
  readonly config: JsonObject;
  /** Every other file by its path. */
  readonly files: ReadonlyMap<string, TaskFile>;
}

export interface ImportedTask {
  readonly task: TaskDefinition;
  /** What the task does not say, or says in another way. */
  readonly notes: readonly string[];
}

const refused = (why: string): HoldfastError => new HoldfastError('task_inconvertible', `${why}.`);

/**
 * The task of a directory of Harbor. `image` names one that has what the Dockerfile would build. Throws `task_inconvertible`, and
 * `task_invalid` where the directory says what no task may.
 */
export function importHarbor({ name, config, files }: HarborFolder, image: string | null): ImportedTask {
  const parsed = harborConfig.safeParse(config);
  if (!parsed.success) {
    const said = fieldErrorsOf(parsed.error).map(({ pointer, detail }) => `task.toml ${pointer} ${detail}`);
    throw refused(said.slice(0, 5).join('; '));
  }
  const { data } = parsed;
  const notes: string[] = unreadKeys(config).map((key) => `task.toml ${key}: without effect; kept in metadata.harbor`);
  const note = (text: string): void => void notes.push(text);
  const kept = keptTask(data.metadata?.holdfast ?? null);
  const place = environmentOf(data, files, image, note);
  const named = (data.task?.name ?? name).split('/').at(-1) ?? '';
  const task: TaskInput = {
    name: slugOf(named),
    version: data.task?.version ?? '1.0.0',
    instruction: literally(textAt(files, 'instruction.md')),
    ...labelsOf(data, note),
    tags: [...tagsIn(data)],
    environment: place.environment,
    initialFiles: place.initialFiles,
    verification: verificationOf(data, files, place.workdir, note),
    timeoutSeconds: secondsOf(data.agent?.timeout_sec, 1800),
    solution: solutionOf(files, place.workdir, note),
    metadata: { harbor: config },
    ...restored(kept, files, image),
  };
  for (const path of files.keys())
    if (!/^(tests|solution|environment)\//.test(path) && path !== 'instruction.md') note(`${path}: left out`);
  return { task: parseTask(task), notes };
}

const secondsOf = (seconds: number | undefined, otherwise: number): number => Math.ceil(seconds ?? otherwise);

function textAt(files: ReadonlyMap<string, TaskFile>, path: string): string {
  const file = files.get(path);
  if (file === undefined) throw refused(`There is no ${path}`);
  if (!('text' in file)) throw refused(`${path} is no text`);
  return file.text;
}

function labelsOf({ metadata }: HarborConfig, note: (text: string) => void) {
  const difficulty = DIFFICULTIES.find((one) => one === metadata?.difficulty);
  if (difficulty === undefined)
    note('task.toml metadata.difficulty: none of easy, medium, hard and expert; medium here');
  if (metadata?.category === undefined) note('task.toml metadata.category: not there; general here');
  return { difficulty: difficulty ?? 'medium', category: slugOf(metadata?.category ?? 'general') } as const;
}

function environmentOf(
  { environment: asked = {} }: HarborConfig,
  files: ReadonlyMap<string, TaskFile>,
  given: string | null,
  note: (text: string) => void,
) {
  const context = [...files.keys()].filter((path) => path.startsWith('environment/')).map((path) => path.slice(12));
  const built = files.has('environment/Dockerfile')
    ? readDockerfile(textAt(files, 'environment/Dockerfile'), context)
    : null;
  const ready = given ?? asked.docker_image ?? null;
  if (ready === null) assertNothingIsBuilt(built, context);
  const image = ready ?? built?.image ?? '';
  const found = asked.workdir ?? built?.workdir ?? null;
  const workdir = found === null || absolute(found) === '/' ? '/work' : absolute(found);
  if (workdir !== found) note(`the workspace is ${workdir}: ${found ?? 'no directory'} was named`);
  for (const one of built?.ignored ?? []) note(`environment/Dockerfile, ${one}: without effect`);
  const mode =
    asked.network_mode ?? (asked.allow_internet === undefined ? null : asked.allow_internet ? 'public' : 'no-network');
  if (mode === null)
    note('task.toml environment.network_mode: not there, which is an open network in Harbor; closed here');
  const memoryMb = asked.memory_mb ?? (asked.memory === undefined ? null : mebibytesOf(asked.memory));
  return {
    workdir,
    environment: {
      image,
      workdir,
      env: { ...built?.env, ...plainOf(asked.env ?? {}, 'environment.env', note) },
      limits: {
        ...(asked.cpus === undefined ? {} : { cpuCores: asked.cpus }),
        ...(memoryMb === null ? {} : { memoryMb: Math.ceil(memoryMb) }),
      },
      security: {
        networkMode: mode === 'public' ? ('open' as const) : ('none' as const),
        allowedEgress: mode === 'allowlist' ? (asked.allowed_hosts ?? []) : [],
      },
    },
    // An image that is ready has them.
    initialFiles: ready === null ? copiedFiles(built, files, workdir) : {},
  };
}

/** Values that Harbor takes from the host are no part of a task. */
function plainOf(env: Readonly<Record<string, string>>, where: string, note: (text: string) => void) {
  return Object.fromEntries(
    Object.entries(env).filter(([name, value]) => {
      if (!value.includes('$')) return true;
      note(`task.toml ${where}.${name}: comes from the host; left out`);
      return false;
    }),
  );
}

function assertNothingIsBuilt(built: Dockerfile | null, context: readonly string[]): void {
  const wayOut = 'Build the image and name it with --image';
  const composed = context.find((path) => /^docker-compose\.ya?ml$/.test(path));
  if (composed !== undefined) throw refused(`environment/${composed} starts several containers. ${wayOut}`);
  if (built === null) throw refused(`There is neither environment/Dockerfile nor environment.docker_image. ${wayOut}`);
  if (built.unsupported.length > 0)
    throw refused(
      `environment/Dockerfile, ${built.unsupported.slice(0, 5).join('; ')}: only FROM, WORKDIR, COPY and ENV without variables are converted. ${wayOut}`,
    );
  if (built.image === null) throw refused(`environment/Dockerfile has no FROM. ${wayOut}`);
}

function copiedFiles(built: Dockerfile | null, files: ReadonlyMap<string, TaskFile>, workdir: string): TaskFiles {
  const found: Record<string, TaskFile> = {};
  for (const { from, to, line } of built?.copies ?? []) {
    if (!to.startsWith(`${workdir}/`))
      throw refused(
        `environment/Dockerfile, line ${line}: ${to} is outside of the workspace ${workdir}. Build the image and name it with --image`,
      );
    const file = files.get(`environment/${from}`);
    if (file !== undefined) found[to.slice(workdir.length + 1)] = asText(file, literally);
  }
  return found;
}

const asText = (file: TaskFile, change: (text: string) => string): TaskFile =>
  'text' in file ? { ...file, text: change(file.text) } : file;

/** The files below a directory, with the places of Harbor as they are here. */
function moved(
  files: ReadonlyMap<string, TaskFile>,
  directory: string,
  workdir: string,
  note: (text: string) => void,
): Record<string, TaskFile> {
  const found: Record<string, TaskFile> = {};
  for (const [path, file] of files) {
    if (!path.startsWith(`${directory}/`)) continue;
    found[path.slice(directory.length + 1)] = asText(file, (text) => {
      const here = toHere(text, workdir);
      if (here !== text) note(`${path}: /tests, /logs and /solution became places that containers can write to`);
      if (toHarbor(here, workdir) !== text) note(`${path}: names such a place itself, so that an export changes it`);
      return literally(here);
    });
  }
  return found;
}

function verificationOf(
  { verifier = {} }: HarborConfig,
  files: ReadonlyMap<string, TaskFile>,
  workdir: string,
  note: (text: string) => void,
) {
  const shell = shellOf(textAt(files, 'tests/test.sh'));
  const seconds = secondsOf(verifier.timeout_sec, 600);
  const env = Object.entries(plainOf(verifier.env ?? {}, 'verifier.env', note)).map(
    ([key, value]) => `${key}=${value}`,
  );
  const command = harborCommand(shell).map(literally);
  return {
    files: moved(files, 'tests', workdir, note),
    tests: [
      {
        name: 'test.sh',
        command: env.length === 0 ? command : ['env', ...env.map(literally), ...command],
        timeoutSeconds: Math.min(seconds, 3600),
        rewardFiles: REWARD_FILES,
      },
    ],
    timeoutSeconds: Math.min(seconds, 86_400),
  };
}

function solutionOf(files: ReadonlyMap<string, TaskFile>, workdir: string, note: (text: string) => void) {
  const script = files.get('solution/solve.sh');
  if (script === undefined || !('text' in script)) return null;
  const found = Object.entries(moved(files, 'solution', workdir, note));
  return {
    script: `${shellOf(script.text)} ${SOLUTION_DIR}/solve.sh`,
    files: Object.fromEntries(found.map(([path, file]) => [`${SOLUTION_DIR}/${path}`, file])),
  };
}

/** What an exported task said that Harbor cannot: its tests are in tests/files, its solution in solution/files. */
function restored(
  kept: KeptTask | null,
  files: ReadonlyMap<string, TaskFile>,
  image: string | null,
): Partial<TaskInput> {
  if (kept === null) return {};
  const below = (directory: string): Record<string, TaskFile> =>
    Object.fromEntries(
      [...files].flatMap(([path, file]) =>
        path.startsWith(`${directory}/`) ? [[path.slice(directory.length + 1), asText(file, literally)]] : [],
      ),
    );
  const script = files.get('solution/script.sh');
  const solution = {
    script: script !== undefined && 'text' in script ? literally(script.text) : null,
    files: below('solution/files'),
  };
  const { hasSolution, verification, environment, ...rest } = kept;
  return {
    ...rest,
    environment: image === null ? environment : { ...environment, image },
    initialFiles: below('environment/files'),
    verification: { ...verification, files: below('tests/files') },
    solution: hasSolution ? solution : null,
  } as Partial<TaskInput>;
}
