import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { finiteOr } from '../../../client/requests.js';
import { codeOrText, HoldfastError } from '../../../core/errors/errors.js';
import type { HarborFolder } from '../../../core/harbor/harbor-import.js';
import { type JsonObject, jsonObject } from '../../../core/json.js';
import { fileOf } from '../../../core/tasks/task-file.js';
import { toml, yaml } from '../../formats.js';
import { misuse } from '../../options.js';

/** Reads what someone else made: no link is followed, nothing but files is opened, and all of it is bounded. */

const FILE_LARGEST = 1_500_000;
const ALL_LARGEST = 16_777_216;
const FILES_MOST = 1500;
const DEEPEST = 16;

export interface FolderFile {
  readonly content: Buffer;
  readonly executable: boolean;
}

/** The files of a directory by their paths below it, in the order of these. Throws `task_unreadable`, which names the file. */
export function readFolder(root: string): ReadonlyMap<string, FolderFile> {
  const found = new Map<string, FolderFile>();
  let bytes = 0;
  const walk = (below: string, depth: number): void => {
    if (depth > DEEPEST) throw unreadable(join(root, below), `it is more than ${DEEPEST} directories deep`);
    for (const name of namesIn(join(root, below))) {
      const path = below === '' ? name : `${below}/${name}`;
      const stat = lstatSync(join(root, path));
      if (stat.isDirectory()) walk(path, depth + 1);
      else {
        const file = readRegular(join(root, path));
        bytes += file.content.length;
        found.set(path, file);
        if (found.size > FILES_MOST) throw unreadable(root, `it holds more than ${FILES_MOST} files`);
        if (bytes > ALL_LARGEST) throw unreadable(root, `its files are larger than ${ALL_LARGEST} bytes together`);
      }
    }
  };
  walk('', 0);
  return found;
}

function namesIn(directory: string): readonly string[] {
  try {
    // Names that are no UTF-8 would come back as others.
    const names = readdirSync(directory, 'buffer').map((name) => {
      const text = name.toString('utf8');
      if (!Buffer.from(text, 'utf8').equals(name)) throw unreadable(`${directory}/${text}`, 'its name is no UTF-8');
      return text;
    });
    return names.sort();
  } catch (error) {
    throw error instanceof HoldfastError ? error : unreadable(directory, codeOf(error));
  }
}

/** A file that is one, and not too large. Throws `task_unreadable`. */
export function readRegular(path: string, largest = FILE_LARGEST): FolderFile {
  let descriptor: number;
  try {
    // A link is refused here and not looked at before, and a pipe does not wait for its other end.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = codeOf(error);
    throw unreadable(path, code === 'ELOOP' ? 'it is a symbolic link; put the file itself there' : code);
  }
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) throw unreadable(path, 'it is no regular file');
    if (stat.size > largest) throw unreadable(path, `it is larger than ${largest} bytes`);
    return { content: allOf(descriptor, path, largest), executable: (stat.mode & 0o111) !== 0 };
  } finally {
    closeSync(descriptor);
  }
}

/** What a file holds, whatever it said of its size. */
function allOf(descriptor: number, path: string, largest: number): Buffer {
  const buffer = Buffer.alloc(largest + 1);
  let length = 0;
  for (;;) {
    const more = readSync(descriptor, buffer, length, buffer.length - length, null);
    length += more;
    if (length > largest) throw unreadable(path, `it is larger than ${largest} bytes`);
    if (more === 0) return Buffer.from(buffer.subarray(0, length));
  }
}

export const unreadable = (path: string, why: string): HoldfastError =>
  new HoldfastError('task_unreadable', `${path} cannot be read: ${why}.`);

/** What the file system says of what there should be. */
const WHY: Readonly<Record<string, string>> = {
  ENOENT: 'it is not there',
  ENOTDIR: 'a file is in the place of a directory',
  EACCES: 'this user may not',
};

function codeOf(error: unknown): string {
  const code = codeOrText(error);
  return WHY[code] ?? code;
}

/** Writes a directory that is not there yet: all of it or nothing. Returns where it is. */
export function writeFolder(path: string, files: ReadonlyMap<string, FolderFile>): string {
  const target = resolve(path);
  if (existsSync(target)) throw misuse(`${target} is there already. Choose another name, or remove it.`);
  const draft = draftBeside(target);
  try {
    for (const [name, { content, executable }] of files) {
      const place = join(draft, name);
      mkdirSync(dirname(place), { recursive: true });
      writeFileSync(place, content, { mode: executable ? 0o755 : 0o644 });
    }
    chmodSync(draft, 0o755);
    renameSync(draft, target);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    throw error;
  }
  return target;
}

function draftBeside(target: string): string {
  try {
    return mkdtempSync(join(dirname(target), '.holdfast-task-'));
  } catch (error) {
    const why = codeOrText(error);
    throw misuse(`${target} cannot be made: ${why}. Name a new folder, in one that is there.`);
  }
}

export const isHarborFolder = (path: string): boolean => existsSync(join(path, 'task.toml'));

/** Reads a directory of Harbor. Throws `task_unreadable`. */
export function readHarborFolder(path: string): HarborFolder {
  const files = readFolder(path);
  const written = files.get('task.toml');
  if (written === undefined) throw unreadable(path, 'it holds no task.toml');
  return {
    name: basename(resolve(path)),
    services: servicesIn(files.get(COMPOSE)?.content.toString('utf8') ?? '', join(path, COMPOSE)),
    config: configIn(written.content.toString('utf8'), join(path, 'task.toml')),
    files: new Map(
      [...files].flatMap(([name, { content, executable }]) =>
        name === 'task.toml' ? [] : [[name, fileOf(content, executable)] as const],
      ),
    ),
  };
}

/** Harbor reads this file alone: one of another name is a file of the task. */
const COMPOSE = 'environment/docker-compose.yaml';
/** The service in which the agent works. */
const MAIN = 'main';

function servicesIn(text: string, path: string): readonly string[] {
  const document = yaml().parseDocument(text);
  const [wrong] = document.errors;
  if (wrong !== undefined) throw unreadable(path, `it is no YAML: ${wrong.message.split('\n', 1)[0]}`);
  const compose: unknown = document.toJS({ maxAliasCount: 100 });
  const services: unknown = Reflect.get(Object(compose), 'services');
  return Object.keys(Object(services)).filter((name) => name !== MAIN);
}

/** As JSON: dates become texts. Throws for the `inf` and `nan` of TOML. */
function configIn(text: string, path: string): JsonObject {
  const finite = finiteOr((name, value) => unreadable(path, `${name} is ${value}; expected a finite number`));
  try {
    return jsonObject.parse(JSON.parse(JSON.stringify(toml().parse(text), finite)));
  } catch (error) {
    if (!(error instanceof toml().TomlError)) throw error;
    throw unreadable(
      path,
      `it is no TOML: line ${error.line}, ${(error.message.split('\n')[0] ?? '').replace('Invalid TOML document: ', '')}`,
    );
  }
}
