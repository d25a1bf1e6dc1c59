import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

const MAX_BYTES = 64 * 1024;

/** The content of a regular file. Throws an error that names what is wrong, without the content. */
export async function readSecretFile(path: string): Promise<string> {
  let file: Awaited<ReturnType<typeof open>>;
  try {
    // A pipe without a writer would keep the opening for ever.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw new Error(`it cannot be read (${codeOf(error)})`);
  }
  try {
    if (!(await file.stat()).isFile()) throw new Error('it is not a file');
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES + 1), 0, MAX_BYTES + 1, 0);
    if (bytesRead > MAX_BYTES) throw new Error('it is larger than 64 KiB');
    return buffer.toString('utf8', 0, bytesRead).trim();
  } finally {
    await file.close();
  }
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : 'unknown');
