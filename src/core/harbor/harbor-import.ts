import { fieldErrorsOf } from '../field-errors.js';
import type { JsonObject } from '../json.js';
import { DIFFICULTIES, parseTask, type TaskDefinition, type TaskInput } from '../tasks/task-definition.js';
import type { TaskFile } from '../tasks/task-file.js';
import { literally } from '../tasks/task-texts.js';
import type { HarborBuild } from './harbor-build.js';
import { type HarborConfig, harborConfig, slugOf, tagsIn, unreadKeys } from './harbor-config.js';
import { asText, environmentOf, plainOf, refused, textAt } from './harbor-environment.js';
import { type KeptTask, keptTask } from './harbor-kept.js';
import {
  harborCommand,
  type Place,
  placesAsMetadata,
  REWARD_FILES,
  shellOf,
  solutionPrefix,
  toHarbor,
  toHere,
} from './harbor-places.js';

/** A directory of Harbor, read. */
export interface HarborFolder {
  readonly name: string;
  /** `task.toml` as JSON. */
  readonly config: JsonObject;
  /** Every other file by its path. */
  readonly files: ReadonlyMap<string, TaskFile>;
  /** Services of environment/docker-compose.yaml beside that of the agent. */
  readonly services?: readonly string[];
}

export interface ImportedTask {
  readonly task: TaskDefinition;
  /** What the task does not say, or says in another way. */
  readonly notes: readonly string[];
  /** What has to be built before the task can run; null: nothing. */
  readonly build: HarborBuild | null;
}

/**
 * The task of a directory of Harbor. `image` names one to begin with in place of the Dockerfile's, which is not built then. Throws `task_inconvertible`, and
 * `task_invalid` where the directory says what no task may.
 */
export function importHarbor({ name, config, files, services = [] }: HarborFolder, image: string | null): ImportedTask {
  const parsed = harborConfig.safeParse(config);
  if (!parsed.success) {
    const said = fieldErrorsOf(parsed.error).map(({ pointer, detail }) => `task.toml ${pointer} ${detail}`);
    throw refused(said.slice(0, 5).join('; '));
  }
  const { data } = parsed;
  const notes: string[] = unreadKeys(config).map((key) => `task.toml ${key}: without effect; kept in metadata.harbor`);
  const note = (text: string): void => void notes.push(text);
  const kept = keptTask(data.metadata?.holdfast ?? null);
  const place = environmentOf({ config: data, files, image, services, note });
  const { workdir, places } = place;
  const told = places.filter(([theirs, ours]) => theirs !== ours);
  if (kept === null)
    note(
      `places: ${told.map(([theirs, ours]) => `${theirs} is ${ours}`).join(', ')}; in the instruction and the files of the task`,
    );
  const named = (data.task?.name ?? name).split('/').at(-1) ?? '';
  const task: TaskInput = {
    name: slugOf(named),
    version: data.task?.version ?? '1.0.0',
    instruction: literally(toHere(textAt(files, 'instruction.md'), places)),
    ...labelsOf(data, note),
    tags: [...tagsIn(data)],
    environment: place.environment,
    initialFiles: place.initialFiles,
    verification: verificationOf(data, files, places, note),
    timeoutSeconds: secondsOf(data.agent?.timeout_sec, 1800),
    solution: solutionOf(files, workdir, places, note),
    metadata: { harbor: config, ...placesAsMetadata(places) },
    ...restored(kept, files, image),
  };
  for (const path of files.keys())
    if (!/^(tests|solution|environment)\//.test(path) && path !== 'instruction.md') note(`${path}: left out`);
  return { task: parseTask(task), notes, build: kept === null ? place.build : null };
}

const secondsOf = (seconds: number | undefined, otherwise: number): number => Math.ceil(seconds ?? otherwise);

function labelsOf({ metadata }: HarborConfig, note: (text: string) => void) {
  const difficulty = DIFFICULTIES.find((one) => one === metadata?.difficulty);
  if (difficulty === undefined)
    note('task.toml metadata.difficulty: none of easy, medium, hard and expert; medium here');
  if (metadata?.category === undefined) note('task.toml metadata.category: not there; general here');
  return { difficulty: difficulty ?? 'medium', category: slugOf(metadata?.category ?? 'general') } as const;
}

/** The files below a directory, with the places of Harbor as they are here. */
function moved(
  files: ReadonlyMap<string, TaskFile>,
  directory: string,
  places: readonly Place[],
  note: (text: string) => void,
): Record<string, TaskFile> {
  const found: Record<string, TaskFile> = {};
  for (const [path, file] of files) {
    if (!path.startsWith(`${directory}/`)) continue;
    found[path.slice(directory.length + 1)] = asText(file, (text) => {
      const here = toHere(text, places);
      if (toHarbor(here, places) !== text) note(`${path}: names such a place itself, so that an export changes it`);
      return literally(here);
    });
  }
  return found;
}

function verificationOf(
  { verifier = {} }: HarborConfig,
  files: ReadonlyMap<string, TaskFile>,
  places: readonly Place[],
  note: (text: string) => void,
) {
  const shell = shellOf(textAt(files, 'tests/test.sh'));
  const seconds = secondsOf(verifier.timeout_sec, 600);
  const env = Object.entries(plainOf(verifier.env ?? {}, 'verifier.env', note)).map(
    ([key, value]) => `${key}=${toHere(value, places)}`,
  );
  const command = harborCommand(shell).map(literally);
  return {
    files: moved(files, 'tests', places, note),
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

function solutionOf(
  files: ReadonlyMap<string, TaskFile>,
  workdir: string,
  places: readonly Place[],
  note: (text: string) => void,
) {
  const script = files.get('solution/solve.sh');
  if (script === undefined || !('text' in script)) return null;
  const prefix = solutionPrefix(places, workdir);
  const found = Object.entries(moved(files, 'solution', places, note));
  return {
    script: `${shellOf(script.text)} ${prefix}solve.sh`,
    files: Object.fromEntries(found.map(([path, file]) => [`${prefix}${path}`, file])),
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
