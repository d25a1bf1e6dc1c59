import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Makes a directory, and those above it that are missing, for this user alone. Throws what `mkdirSync` throws. Its own way of
 * making several tries for ever where a directory that is there takes none, as /proc.
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
