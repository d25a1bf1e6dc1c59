import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const BLOCK_BYTES = 65_536;

/** A file system of its own, of which a test may take all that is left. */
export interface SmallDisk {
  readonly dir: string;
  fill(): void;
  makeRoom(): void;
  close(): void;
}

const mount = (...args: readonly string[]): boolean => spawnSync('/bin/mount', args).status === 0;

/** Why there can be none; null: there can. */
export function noSmallDisk(): string | null {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  const mounted = mount('-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', dir);
  if (mounted) spawnSync('/bin/umount', [dir]);
  rmSync(dir, { recursive: true });
  return mounted ? null : 'no file system of its own can be mounted here: only root may';
}

export function openSmallDisk(sizeMb: number): SmallDisk {
  const dir = mkdtempSync(join('/tmp', 'holdfast-test-'));
  if (!mount('-t', 'tmpfs', '-o', `size=${sizeMb}m,mode=0755`, 'tmpfs', dir)) throw new Error('it cannot be mounted');
  const ballast = join(dir, 'ballast');
  return {
    dir,
    fill: () => {
      const file = openSync(ballast, 'w');
      for (const size of [BLOCK_BYTES, 1]) while (writes(file, size));
      closeSync(file);
    },
    makeRoom: () => rmSync(ballast, { force: true }),
    close: () => {
      spawnSync('/bin/umount', ['--lazy', dir]);
      rmSync(dir, { recursive: true });
    },
  };
}

/** Whether so many bytes could be written: not when the disk is full. */
function writes(file: number, size: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(size)) > 0;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return false;
    throw error;
  }
}
