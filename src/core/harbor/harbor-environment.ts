import { environmentSpec, holdsPrograms, isTakenInContainers } from '../containers/environment-spec.js';
import { HoldfastError } from '../errors/errors.js';
import type { TaskFile, TaskFiles } from '../tasks/task-file.js';
import { literally } from '../tasks/task-texts.js';
import { harborBuild } from './harbor-build.js';
import { type HarborConfig, mebibytesOf } from './harbor-config.js';
import { absolute, type Copied, type Dockerfile, readDockerfile } from './harbor-dockerfile.js';
import {
  directoriesNamedIn,
  directoriesOfFilesIn,
  isWithin,
  logPlaces,
  type Place,
  ROOT_DIR,
  relocationOf,
  toHere,
  usualPlaces,
} from './harbor-places.js';

/** What a directory of Harbor says of the container of its task. */

export interface EnvironmentRequest {
  readonly config: HarborConfig;
  readonly files: ReadonlyMap<string, TaskFile>;
  /** An image to begin with in place of the Dockerfile's; null: none. */
  readonly image: string | null;
  /** Services of environment/docker-compose.yaml beside the container of the agent. */
  readonly services: readonly string[];
  readonly note: (text: string) => void;
}

const MOVED_MOST = 64;
const BUILD_SECONDS = 600;
const USER = environmentSpec.shape.user.parse(undefined);

export const refused = (why: string): HoldfastError => new HoldfastError('task_inconvertible', `${why}.`);

type Mode = 'base' | 'build';

export function environmentOf(request: EnvironmentRequest) {
  const { config, files, image: given, note } = request;
  const asked = config.environment ?? {};
  const context = below(files, 'environment');
  const built = context.has('Dockerfile')
    ? readDockerfile(textOf(context.get('Dockerfile'), 'environment/Dockerfile'), [...context.keys()])
    : null;
  const mode = modeOf(request, built);
  const { workdir, begin } = workspaceOf(asked.workdir ?? built?.workdir ?? null, note);
  for (const one of built?.ignored ?? []) note(`environment/Dockerfile, ${one}: without effect`);
  const moved = movedBy(files, built, mode, workdir, note);
  const places = placesOf(files, moved, mode, workdir, begin);
  const build =
    mode === 'base'
      ? null
      : harborBuild({
          dockerfile: dockerfileOf(asked.docker_image ?? null, context),
          ...{ context, copied: new Set(built?.copies.map(({ from }) => from)), places, workdir, begin, user: USER },
          moved: [...moved.keys()],
          timeoutSeconds: Math.ceil(asked.build_timeout_sec ?? BUILD_SECONDS),
        });
  const initialFiles = mode === 'base' ? initialFilesOf({ built, context, moved, workdir, begin, places, note }) : {};
  return {
    ...{ workdir, places, build, initialFiles },
    environment: {
      image: given ?? build?.image ?? built?.image ?? '',
      workdir,
      env: envOf(request, built, places, mode),
      ...boundsOf(asked, note),
    },
  };
}

/** Whether an image is built; throws `task_inconvertible` where there is nothing to build. */
function modeOf({ config, image, services, note }: EnvironmentRequest, built: Dockerfile | null): Mode {
  const beside = `environment/docker-compose.yaml starts ${services.join(', ')} beside the container of the agent`;
  if (services.length > 0 && image === null) throw refused(`${beside}, which no task has`);
  if (services.length > 0) note(`${beside}: left out`);
  if (image !== null) {
    for (const one of built?.unsupported ?? [])
      note(`environment/Dockerfile, ${one}: not done; the image has to have what it makes`);
    return 'base';
  }
  if (config.environment?.docker_image !== undefined) return 'build';
  if (built === null) throw refused('There is neither environment/Dockerfile nor environment.docker_image');
  if (built.unsupported.length > 0) return 'build';
  if (built.image === null) throw refused('environment/Dockerfile has no FROM');
  return 'base';
}

/** `begin`: the directory that Harbor works in, where the workspace cannot be there. */
function workspaceOf(named: string | null, note: (text: string) => void) {
  const found = named === null ? null : absolute(named);
  const isFree = found !== null && found !== '/' && !isTakenInContainers(found) && !holdsPrograms(found);
  if (isFree && !isWithin(found, '/tests')) return { workdir: found, begin: null };
  const workdir = environmentSpec.shape.workdir.parse(undefined);
  note(`the workspace is ${workdir}: ${found === null ? 'no directory was named' : `${found} cannot be one`}`);
  return { workdir, begin: found === '/' ? null : found };
}

/** What is moved below the workspace, and whether it is a directory. */
function movedBy(
  files: ReadonlyMap<string, TaskFile>,
  built: Dockerfile | null,
  mode: Mode,
  workdir: string,
  note: (text: string) => void,
): ReadonlyMap<string, 'file' | 'directory'> {
  const moved = new Map<string, 'file' | 'directory'>();
  const add = (path: string, kind: 'file' | 'directory'): void => {
    if (moved.has(path)) return;
    if (moved.size < MOVED_MOST) moved.set(path, kind);
    else note(`${path}: left where it is; no more than ${MOVED_MOST} paths outside of the workspace are moved`);
  };
  for (const { to } of built?.copies ?? []) {
    const path = relocationOf(to, workdir);
    if (path !== null) add(path, path === to ? 'file' : 'directory');
  }
  for (const directory of built?.directories ?? []) {
    const path = relocationOf(directory, workdir);
    if (path !== null) add(path, 'directory');
  }
  for (const [path, file] of files) {
    if (!('text' in file) || path.startsWith('environment/')) continue;
    for (const one of movedFor(path, file.text, mode, workdir)) add(one, 'directory');
  }
  return moved;
}

/** What a text of the task outside of its environment wants moved. */
function movedFor(path: string, text: string, mode: Mode, workdir: string): readonly string[] {
  // A link to nothing harms no one in an image; a text that is changed in vain may.
  const inBase = path === 'instruction.md' ? directoriesOfFilesIn(text, workdir) : [];
  const named = mode === 'build' ? directoriesNamedIn(text, workdir) : inBase;
  const isSolution = path.startsWith('solution/');
  const own = ['/tmp', '/solution'].filter(
    (one) => !isSolution && mentions(text, one) && relocationOf(one, workdir) === one,
  );
  // Harbor's own places are not the task's, unless the task says more of them than that.
  return [...named.filter((one) => one !== '/tests' && one !== '/logs' && one !== '/solution'), ...own];
}

const mentions = (text: string, path: string): boolean => new RegExp(`(?<![\\w.}/~*-])${path}(?![\\w-])`).test(text);

function placesOf(
  files: ReadonlyMap<string, TaskFile>,
  moved: ReadonlyMap<string, unknown>,
  mode: Mode,
  workdir: string,
  begin: string | null,
): readonly Place[] {
  const instruction = files.get('instruction.md');
  const ownLogs =
    moved.has('/logs') || (instruction !== undefined && 'text' in instruction && mentions(instruction.text, '/logs'));
  const usesSolution = isWithin(workdir, '/solution') || moved.has('/solution');
  const usual = usualPlaces(workdir).filter(
    ([theirs]) => !(theirs === '/logs' && ownLogs) && !(theirs === '/solution' && usesSolution),
  );
  // The links of an image lead to the others.
  const named = [...moved.keys()].filter((path) => mode === 'base' || path === '/tmp' || path === '/solution');
  return [
    ...usual,
    ...(ownLogs ? logPlaces : []),
    ...(isWithin(workdir, '/solution') ? [['/solution', '/solution'] as const] : []),
    ...named.filter((path) => path !== begin).map((path): Place => [path, `${workdir}/${ROOT_DIR}${path}`]),
    ...(begin === null ? [] : [[begin, workdir] as const]),
  ];
}

interface InitialRequest {
  readonly built: Dockerfile | null;
  readonly context: ReadonlyMap<string, TaskFile>;
  readonly moved: ReadonlyMap<string, 'file' | 'directory'>;
  readonly workdir: string;
  readonly begin: string | null;
  readonly places: readonly Place[];
  readonly note: (text: string) => void;
}

/** The files that a Dockerfile copies, and an empty one in each directory that would otherwise not be there. */
function initialFilesOf({ built, context, moved, workdir, begin, places, note }: InitialRequest): TaskFiles {
  const found = new Map<string, TaskFile>();
  const placed = (path: string): string | null => {
    if (isWithin(path, workdir)) return path.slice(workdir.length + 1);
    if (begin !== null && isWithin(path, begin)) return path.slice(begin.length + 1);
    return [...moved.keys()].some((one) => isWithin(path, one)) ? `${ROOT_DIR}${path}` : null;
  };
  const copy = ({ from, to, mode, line }: Copied): void => {
    const file = context.get(from);
    const path = placed(to);
    if (file === undefined) return;
    if (path === null || path === '')
      note(`environment/Dockerfile, line ${line}: ${from} cannot be at ${to}; left out`);
    else
      found.set(
        path,
        withMode(
          asText(file, (text) => literally(toHere(text, places))),
          mode,
        ),
      );
  };
  for (const one of built?.copies ?? []) copy(one);
  const directories = [
    ...(built?.directories ?? []),
    ...[...moved].flatMap(([path, kind]) => (kind === 'file' ? [] : [path])),
  ];
  for (const directory of directories) {
    const path = placed(directory);
    if (path === null || path === '' || found.has(path)) continue;
    if (![...found.keys()].some((one) => one.startsWith(`${path}/`)))
      found.set(`${path}/.keep`, { text: '', mode: '644' });
  }
  return Object.fromEntries(found);
}

const withMode = (file: TaskFile, mode: string | null): TaskFile => (mode === null ? file : { ...file, mode });

export const asText = (file: TaskFile, change: (text: string) => string): TaskFile =>
  'text' in file ? { ...file, text: change(file.text) } : file;

function below(files: ReadonlyMap<string, TaskFile>, directory: string): ReadonlyMap<string, TaskFile> {
  return new Map(
    [...files].flatMap(([path, file]) =>
      path.startsWith(`${directory}/`) ? [[path.slice(directory.length + 1), file] as const] : [],
    ),
  );
}

const textOf = (file: TaskFile | undefined, path: string): string => {
  if (file === undefined) throw refused(`There is no ${path}`);
  if (!('text' in file)) throw refused(`${path} is no text`);
  return file.text;
};
export const textAt = (files: ReadonlyMap<string, TaskFile>, path: string): string => textOf(files.get(path), path);

const dockerfileOf = (image: string | null, context: ReadonlyMap<string, TaskFile>): string =>
  image === null ? textOf(context.get('Dockerfile'), 'environment/Dockerfile') : `FROM ${image}\n`;

/** An image that was built has its own variables, unless they name a place that is another one here. */
function envOf(
  { config, note }: EnvironmentRequest,
  built: Dockerfile | null,
  places: readonly Place[],
  mode: Mode,
): Readonly<Record<string, string>> {
  const theirs = Object.entries(built?.env ?? {}).filter(
    ([, value]) => mode === 'base' || toHere(value, places) !== value,
  );
  const named = { ...Object.fromEntries(theirs), ...plainOf(config.environment?.env ?? {}, 'environment.env', note) };
  return Object.fromEntries(Object.entries(named).map(([name, value]) => [name, toHere(value, places)]));
}

/** Values that Harbor takes from the host are no part of a task. */
export function plainOf(env: Readonly<Record<string, string>>, where: string, note: (text: string) => void) {
  return Object.fromEntries(
    Object.entries(env).filter(([name, value]) => {
      if (!value.includes('$')) return true;
      note(`task.toml ${where}.${name}: comes from the host; left out`);
      return false;
    }),
  );
}

function boundsOf(asked: NonNullable<HarborConfig['environment']>, note: (text: string) => void) {
  const mode =
    asked.network_mode ?? (asked.allow_internet === undefined ? null : asked.allow_internet ? 'public' : 'no-network');
  if (mode === null)
    note('task.toml environment.network_mode: not there, which is an open network in Harbor; closed here');
  const memoryMb = asked.memory_mb ?? (asked.memory === undefined ? null : mebibytesOf(asked.memory));
  return {
    limits: {
      ...(asked.cpus === undefined ? {} : { cpuCores: asked.cpus }),
      ...(memoryMb === null ? {} : { memoryMb: Math.ceil(memoryMb) }),
    },
    security: {
      networkMode: mode === 'public' ? ('open' as const) : ('none' as const),
      allowedEgress: mode === 'allowlist' ? (asked.allowed_hosts ?? []) : [],
    },
  };
}
