import { randomUUID } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { HoldfastError } from '../../core/errors/errors.js';
import { makeDirectory } from '../../storage/database/data-dir/private-files.js';
import type { RunStateBackend } from './run-state-backend.js';

/** A state in a file that only its owner may read. Writing replaces the file at once and is on the disk when it returns. */
export class FileRunStateBackend implements RunStateBackend {
  readonly place: string;

  constructor(path: string) {
    this.place = resolve(path);
  }

  async read(): Promise<string | null> {
    try {
      return await readFile(this.place, 'utf8');
    } catch (cause) {
      if (codeOf(cause) === 'ENOENT') return null;
      const message = `The saved run state in ${this.place} cannot be read: ${codeOf(cause)}.`;
      throw new HoldfastError('state_unreadable', message, { cause });
    }
  }

  async write(text: string): Promise<void> {
    const directory = dirname(this.place);
    makeDirectory(directory);
    const beside = `${this.place}.${randomUUID()}.tmp`;
    try {
      const file = await open(beside, 'wx', 0o600);
      try {
        await file.writeFile(text, 'utf8');
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(beside, this.place);
    } catch (error) {
      await rm(beside, { force: true });
      throw error;
    }
    await syncDirectory(directory);
  }

  async remove(): Promise<void> {
    await rm(this.place, { force: true });
  }
}

/** Makes the new name durable; what cannot open a directory (Windows) makes it so by itself. */
async function syncDirectory(directory: string): Promise<void> {
  try {
    const handle = await open(directory, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (!['EISDIR', 'EPERM', 'EACCES', 'EINVAL'].includes(codeOf(error))) throw error;
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown error';
