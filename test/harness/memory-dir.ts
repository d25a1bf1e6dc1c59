import { existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

/** A file system in memory, where Linux has one. A database is a thousand files, and hundreds are copied. */
const MEMORY = '/dev/shm';
const TMPFS = 0x01021994;
const ENOUGH_BYTES = 4 * 1024 ** 3;

const NAME = /^holdfast-test-(\d+)-/;

/** A directory of this process there; null where there is no such thing or no room. */
export function memoryDir(): string | null {
  removeMemoryDirs();
  return newMemoryDir();
}

/** One more of this process. */
export function newMemoryDir(): string | null {
  if (!existsSync(MEMORY)) return null;
  const { type, bavail, bsize } = statfsSync(MEMORY);
  if (type !== TMPFS || Math.min(bavail * bsize, process.availableMemory()) < ENOUGH_BYTES) return null;
  return mkdtempSync(join(MEMORY, `holdfast-test-${process.pid}-`));
}

/** Removes that of this process, and what others left that are dead. */
export function removeMemoryDirs(): void {
  for (const name of existsSync(MEMORY) ? readdirSync(MEMORY) : []) {
    const pid = Number(NAME.exec(name)?.[1] ?? Number.NaN);
    if (pid === process.pid || (pid > 0 && !existsSync(`/proc/${pid}`))) {
      try {
        rmSync(join(MEMORY, name), { recursive: true, force: true });
      } catch {
        // It is another user's.
      }
    }
  }
}
