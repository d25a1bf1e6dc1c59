import { chmodSync, type Dirent, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
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
