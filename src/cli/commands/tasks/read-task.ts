import { existsSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { HoldfastError } from '../../../core/errors/errors.js';
import { importHarbor } from '../../../core/harbor/harbor-import.js';
import { isObject } from '../../../core/json.js';
import { parseTask, type TaskDefinition } from '../../../core/tasks/task-definition.js';
import { fileOf, type TaskFile } from '../../../core/tasks/task-file.js';
import { yaml } from '../../formats.js';
import { shippedTasks } from '../../help.js';
import {
  type FolderFile,
  isHarborFolder,
  readFolder,
  readHarborFolder,
  readRegular,
  unreadable,
} from './read-folder.js';

const DEFINITION_LARGEST = 8_388_608;
const DEFINITIONS = ['task.yaml', 'task.yml', 'task.json'];

/**
 * The task of a file (YAML or JSON), of a directory with a `task.yaml` or one of Harbor, or of those that ship, by its name. Throws
 * `task_unreadable` and `task_invalid`.
 */
export function readTask(place: string): TaskDefinition {
  const path = placeOf(place);
  if (isHarborFolder(path)) return ofHarbor(path);
  return parseTask(statSync(path).isDirectory() ? ofFolder(path) : ofText(readRegular(path, DEFINITION_LARGEST), path));
}

/** One whose image has to be built names an image that the engine may not have. */
function ofHarbor(path: string): TaskDefinition {
  const { task, build } = importHarbor(readHarborFolder(path), null);
  if (build === null) return task;
  throw new HoldfastError(
    'task_inconvertible',
    `The image of ${path} has to be built first: environment/Dockerfile or environment.docker_image says how.`,
    { hint: `Make a definition with \`holdfast task import ${path} --out <file>\`, which builds it, and use that.` },
  );
}

/** A path that is there, otherwise that of a task that ships. Throws `task_unreadable`. */
export function placeOf(place: string): string {
  if (existsSync(place)) return place;
  const shipped = join(shippedTasks(), place);
  if (basename(place) === place && place !== '..' && existsSync(shipped)) return shipped;
  throw new HoldfastError(
    'task_unreadable',
    `There is no file or directory ${place}, and no task of that name ships.`,
    {
      hint: 'Name a definition file, a directory with a task.yaml, or a task that ships.',
    },
  );
}

/** The value of a definition file. A document that says something twice, or unfolds beyond measure, is none. */
function ofText({ content }: FolderFile, path: string): unknown {
  const text = content.toString('utf8');
  if (!Buffer.from(text, 'utf8').equals(content)) throw unreadable(path, 'it is no UTF-8');
  const document = yaml().parseDocument(text, { prettyErrors: true });
  const [problem] = document.errors;
  if (problem !== undefined) throw unreadable(path, `it is no YAML: ${firstLine(problem.message)}`);
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw unreadable(path, firstLine(error instanceof Error ? error.message : String(error)));
  }
}

const firstLine = (text: string): string => (text.split('\n')[0] ?? '').replace(/[:.]$/, '');

/** `task.yaml`, and beside it what is easier to keep in files: instruction.md, files/, tests/ and solution/. */
function ofFolder(root: string): unknown {
  const files = readFolder(root);
  const name = DEFINITIONS.find((one) => files.has(one));
  const written = name === undefined ? undefined : files.get(name);
  if (name === undefined || written === undefined) throw unreadable(root, `it holds no ${DEFINITIONS.join(', ')}`);
  const value = ofText(written, join(root, name));
  if (!isObject(value)) return value;
  const task: Record<string, unknown> = { ...value };
  for (const [path, file] of files) {
    if (path === name) continue;
    const put = placeIn(task, path);
    if (put === null)
      throw unreadable(join(root, path), 'it is no part of a task; files are in files/, tests/ or solution/');
    if (!put(fileOf(file.content, file.executable))) throw unreadable(join(root, path), `${name} says the same, too`);
  }
  return task;
}

type Put = (file: TaskFile) => boolean;

/** Where the content of a file of the directory belongs. It gives false where the definition has something there. */
function placeIn(task: Record<string, unknown>, path: string): Put | null {
  const [top = '', ...rest] = path.split('/');
  const below = rest.join('/');
  if (path === 'instruction.md') return (file) => set(task, 'instruction', 'text' in file ? file.text : file);
  if (below === '__proto__') return null;
  if (below === '') return path === 'README.md' ? () => true : null;
  if (top === 'files') return (file) => set(objectIn(task, 'initialFiles'), below, file);
  if (top === 'tests') return (file) => set(objectIn(objectIn(task, 'verification'), 'files'), below, file);
  if (top !== 'solution') return null;
  const solution = objectIn(task, 'solution');
  if (below === 'solve.sh') return (file) => set(solution, 'script', 'text' in file ? file.text : file);
  return (file) => set(objectIn(solution, 'files'), below, file);
}

function set(object: Record<string, unknown>, key: string, value: unknown): boolean {
  if (Object.hasOwn(object, key)) return false;
  object[key] = value;
  return true;
}

/** An object below another one, made where there is none. What is there and no object is left to the schema to refuse. */
function objectIn(object: Record<string, unknown>, key: string): Record<string, unknown> {
  const there = Object.hasOwn(object, key) ? object[key] : undefined;
  if (there !== undefined && there !== null && !isObject(there)) return {};
  const copy = { ...there };
  object[key] = copy;
  return copy;
}
