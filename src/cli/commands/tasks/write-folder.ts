import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { misuse } from '../../options.js';
import type { FolderFile } from './read-folder.js';

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
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw misuse(`${target} cannot be made: ${why}.`);
  }
}
