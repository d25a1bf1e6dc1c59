import { appendFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Knex } from 'knex';
import { z } from 'zod';
import { type CheckpointLine, checkpointLineOf } from '../../core/evidence/checkpoint.js';
import { makeDirectory, readKeyFile } from '../database/data-dir/private-files.js';

/** What a checkpoint is stored as. Its signature says whether it is one: who can write to the table can write anything into it. */
export interface StoredCheckpoint {
  readonly size: number;
  readonly note: string;
  readonly at: Date;
}

interface CheckpointRow {
  size: string;
  root: string;
  note: string;
  at: Date;
}

/** Older ones are where they were written to outside. */
const KEPT = 10_000;

const checkpoints = (db: Knex) => db<CheckpointRow>('holdfast.log_checkpoints');

/** Keeps a checkpoint; of one size there is one. */
export async function saveCheckpoint(
  db: Knex,
  { size, root, note }: { readonly size: number; readonly root: string; readonly note: string },
): Promise<void> {
  await checkpoints(db)
    .insert({ size: String(size), root, note })
    .onConflict('size')
    .ignore();
  await checkpoints(db)
    .where('size', '<=', checkpoints(db).orderBy('size', 'desc').offset(KEPT).limit(1).select('size'))
    .delete();
}

/** The newest first. */
export async function newestCheckpoints(db: Knex, limit: number): Promise<StoredCheckpoint[]> {
  const rows = await checkpoints(db).orderBy('size', 'desc').limit(limit).select('size', 'note', 'at');
  return rows.map(({ size, note, at }) => ({ size: Number(size), note, at }));
}

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

/**
 * A public key of a log, and the note in which the key before handed over to it; null: it was the first. `revocation`: the note that
 * revoked it later.
 */
const line = z.object({
  key: z.string(),
  handover: z.string().nullable(),
  revocation: z.string().exactOptional(),
});
type PublicKeyLine = z.infer<typeof line>;

/** The file of public keys that stands beside the one of a signing key. */
export const publicKeysOf = (keyFile: string): string => `${keyFile}.pub`;

/** Every public key that a key file has had, the oldest first. Throws what names the line that is none. */
export function readPublicKeys(path: string): readonly PublicKeyLine[] {
  const lines = (readKeyFile(path) ?? '').split('\n').filter((text) => text !== '');
  return lines.map((text, index) => {
    try {
      return line.parse(JSON.parse(text));
    } catch (cause) {
      throw new Error(`line ${index + 1} is no public key`, { cause });
    }
  });
}

export const addPublicKey = (path: string, one: PublicKeyLine): void =>
  appendFileSync(path, `${JSON.stringify(one)}\n`, { mode: 0o600, flush: true });
