import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type CheckpointLine, checkpointLineOf } from '../../core/evidence/checkpoint-line.js';
import { makeDirectory } from '../database/data-dir/make-directory.js';

const TAIL_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;

/**
 * Checkpoints in a file outside the database, a JSON document per line. It is only added to, by one write each, and synced. A line
 * without its end is of a process that was killed while it wrote; the next one ends it.
 */
export class CheckpointFile {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  async append(one: CheckpointLine): Promise<void> {
    makeDirectory(dirname(this.path));
    const file = await open(this.path, 'a+', 0o600);
    try {
      const { size } = await file.stat();
      const last = size === 0 ? LINE_FEED : (await file.read(Buffer.alloc(1), 0, 1, size - 1)).buffer[0];
      await file.appendFile(`${last === LINE_FEED ? '' : '\n'}${JSON.stringify(one)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** The last lines, oldest first; those that cannot be read are left out. Empty where there is no file. */
  async tail(): Promise<CheckpointLine[]> {
    const file = await open(this.path, 'r').catch(absent);
    if (file === null) return [];
    try {
      const { size } = await file.stat();
      const from = Math.max(0, size - TAIL_BYTES);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, from);
      const lines = buffer.toString('utf8', 0, bytesRead).split('\n');
      return (from === 0 ? lines : lines.slice(1)).map(checkpointLineOf).filter((one) => one !== null);
    } finally {
      await file.close();
    }
  }

  /** Every line that can be read, in order. */
  async *lines(): AsyncGenerator<CheckpointLine, void> {
    const file = await open(this.path, 'r').catch(absent);
    if (file === null) return;
    try {
      for await (const text of file.readLines()) {
        const one = checkpointLineOf(text);
        if (one !== null) yield one;
      }
    } finally {
      await file.close();
    }
  }
}

function absent(error: unknown): null {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
  throw error;
}
