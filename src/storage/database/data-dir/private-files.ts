import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  type Dirent,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** What a mode may give to others than the owner: nothing. */
export const OTHERS = 0o077;

/** A mode without it. */
export const closedMode = (mode: number): number => mode & ~OTHERS;

/**
 * Takes from others what they may do with a directory of ours and all that is in it. Links are not followed. What goes meanwhile is
 * left out. Throws what `chmodSync` throws where a part belongs to another user.
 */
export function closeTree(path: string): void {
  closePath(path);
  for (const one of readdirSync(path, { withFileTypes: true })) closeEntry(path, one);
}

function closeEntry(parent: string, one: Dirent): void {
  const path = join(parent, one.name);
  if (one.isDirectory()) closeTree(path);
  else if (one.isFile()) closePath(path);
}

/** The same for one file or directory. Nothing happens where it is gone, or closed already. */
export function closePath(path: string): void {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  if (mode !== undefined && (mode & OTHERS) !== 0) chmodSync(path, closedMode(mode & 0o7777));
}

/**
 * Makes a directory, and those above it that are missing, for this user alone. Throws what `mkdirSync` throws. Its own way of
 * making several tries forever where a directory that is there takes none, as /proc.
 */
export function makeDirectory(path: string): void {
  const missing: string[] = [];
  for (let at = resolve(path); !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const one of missing) {
    try {
      mkdirSync(one, { mode: 0o700 });
    } catch (error) {
      // Another process was faster.
      if (statSync(one, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
    }
  }
}

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
