import { randomUUID } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { parseJson } from '../../core/json.js';

const record = z.object({ size: z.int().min(0), root: z.string().regex(/^[0-9a-f]{64}$/) });
/** How many entries were signed, and the root of the tree over them. */
export type SignedRecord = z.infer<typeof record>;

/** The file beside the one of a signing key that says what was signed last. It stays where it is when the key is rotated. */
export const signedRecordOf = (keyFile: string): string => `${keyFile}.signed`;

const UNWRITABLE = new Set(['EROFS', 'EACCES', 'EPERM']);
const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

/** Null: nothing was signed with a key of this file. Throws `log_broken` where the file cannot be understood. */
export async function readSignedRecord(path: string): Promise<SignedRecord | null> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  const { data } = record.safeParse(parsed(text));
  if (data !== undefined) return data;
  throw new HoldfastError('log_broken', `The file ${path} does not say what was signed last.`);
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

/**
 * Keeps what is about to be signed, unless another process has kept more. A crash leaves the record that was there. False: the
 * place can only be read.
 */
export async function keepSignedRecord(path: string, { size, root }: SignedRecord): Promise<boolean> {
  const there = await readSignedRecord(path);
  if (there !== null && there.size >= size) return true;
  const draft = `${path}.${randomUUID()}`;
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(`${JSON.stringify({ size, root })}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
    return true;
  } catch (error) {
    if (UNWRITABLE.has(codeOf(error))) return false;
    throw error;
  }
}
