import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeDirectory } from './private-files.js';

const OWNER_ALONE = 0o600;

/** The content of a file; null: there is none. */
export function readKeyFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Writes a file that only its owner may read. It is written aside and put into place, so that a crash leaves no half of it, and of
 * two that make it at once one decides. Gives what is there now.
 */
export function makeKeyFile(path: string, content: string): string {
  const draft = write(path, content);
  try {
    linkSync(draft, path);
    return content;
  } catch (error) {
    const there = readKeyFile(path);
    if (there === null) throw error;
    return there;
  } finally {
    unlinkSync(draft);
  }
}

/** The same in place of what is there. */
export const replaceKeyFile = (path: string, content: string): void => renameSync(write(path, content), path);

function write(path: string, content: string): string {
  makeDirectory(dirname(path));
  const draft = `${path}.${randomUUID()}`;
  writeFileSync(draft, `${content}\n`, { mode: OWNER_ALONE, flag: 'wx' });
  return draft;
}
