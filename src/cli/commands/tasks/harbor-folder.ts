import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { parseDocument } from 'yaml';
import type { HarborFolder } from '../../../core/harbor/harbor-import.js';
import { type JsonObject, jsonObject } from '../../../core/json.js';
import { fileOf } from '../../../core/tasks/task-file.js';
import { readFolder, unreadable } from './read-folder.js';

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
  const document = parseDocument(text);
  const [wrong] = document.errors;
  if (wrong !== undefined) throw unreadable(path, `it is no YAML: ${wrong.message.split('\n', 1)[0]}`);
  const compose: unknown = document.toJS({ maxAliasCount: 100 });
  const services: unknown = Reflect.get(Object(compose), 'services');
  return Object.keys(Object(services)).filter((name) => name !== MAIN);
}

/** As JSON: dates become texts. */
function configIn(text: string, path: string): JsonObject {
  try {
    return jsonObject.parse(JSON.parse(JSON.stringify(parse(text))));
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw unreadable(
      path,
      `it is no TOML: line ${error.line}, ${(error.message.split('\n')[0] ?? '').replace('Invalid TOML document: ', '')}`,
    );
  }
}
