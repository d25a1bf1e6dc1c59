import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { leadsOut } from './export-folder.js';

/** A file of an export, as it is sent. The reader closes it. */
export interface ExportedFile {
  readonly name: string;
  readonly sizeBytes: number;
  readonly content: AsyncIterable<Uint8Array>;
}

async function* contentOf(file: FileHandle): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of file.createReadStream({ autoClose: false })) yield piece as Uint8Array;
  } finally {
    await file.close();
  }
}

/** Opens a file below a folder; null: it is not there, or a link leads out of the export directory. */
export async function openExported(
  dir: string,
  folder: string,
  { path, sizeBytes }: { readonly path: string; readonly sizeBytes: number },
): Promise<ExportedFile | null> {
  const whole = await Promise.all([realpath(join(folder, path)), realpath(dir)]).catch(() => null);
  if (whole === null || leadsOut(whole[0], whole[1])) return null;
  const file = await open(whole[0], constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => null);
  if (file === null) return null;
  const facts = await file.stat();
  if (facts.isFile() && facts.size === sizeBytes)
    return { name: path.split('/').at(-1) ?? path, sizeBytes, content: contentOf(file) };
  await file.close();
  return null;
}
