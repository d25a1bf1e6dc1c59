import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import type { HarborFolder } from '../core/harbor-import.js';
import { type JsonObject, jsonObject } from '../core/json.js';
import { fileOf } from '../core/task-file.js';
import { readFolder, unreadable } from './read-folder.js';

export const isHarborFolder = (path: string): boolean => existsSync(join(path, 'task.toml'));

/** Reads a directory of Harbor. Throws `task_unreadable`. */
export function readHarborFolder(path: string): HarborFolder {
  const files = readFolder(path);
  const written = files.get('task.toml');
  if (written === undefined) throw unreadable(path, 'it holds no task.toml');
  return {
    name: basename(resolve(path)),
    config: configIn(written.content.toString('utf8'), join(path, 'task.toml')),
    files: new Map(
      [...files].flatMap(([name, { content, executable }]) =>
        name === 'task.toml' ? [] : [[name, fileOf(content, executable)] as const],
      ),
    ),
  };
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
