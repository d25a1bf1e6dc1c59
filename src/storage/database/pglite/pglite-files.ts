import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { HoldfastError } from '../../../core/errors/errors.js';
import { makeDirectory } from '../data-dir/make-directory.js';
import { PrivateNodeFS } from '../data-dir/private-files.js';

/** What the system says of files that may be whole. */
const REFUSALS: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EMFILE', 'ENFILE']);

const SHARED_BUFFERS = '16MB';

/**
 * Opens `dataDir/pg`, or makes it. A first start that was killed leaves a mark beside half a database, which nobody has
 * used yet: the next start makes it anew. Throws `database_corrupt`, and `config_invalid` where the system lets nobody in; files that were there stay as they are.
 */
export async function openFiles(dataDir: string): Promise<PGlite> {
  const path = join(dataDir, 'pg');
  const mark = join(dataDir, 'pg-is-being-made');
  const said: string[] = [];
  try {
    if (existsSync(mark)) rmSync(path, { recursive: true, force: true });
    const isNew = !existsSync(path) || readdirSync(path).length === 0;
    // PGlite would make a new database over the old one.
    if (!isNew && !existsSync(join(path, 'PG_VERSION'))) throw new Error('PG_VERSION is missing');
    if (isNew) writeFileSync(mark, '', { mode: 0o600 });
    // PGlite would make it for everybody.
    makeDirectory(path);
    const db = await PGlite.create({
      fs: new PrivateNodeFS(path),
      startParams: [...PGlite.defaultStartParams, '-c', `shared_buffers=${SHARED_BUFFERS}`],
      onStderr: (line) => said.push(line) === 0,
    });
    if (isNew) rmSync(mark);
    return db;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && REFUSALS.has(String(cause.code))) {
      throw new HoldfastError(
        'config_invalid',
        `The embedded database in ${path} cannot be used: ${String(cause.code)}.`,
        {
          cause,
          hint: 'Let this user read and write it and let the disk have room, or set HOLDFAST_DATA_DIR to another directory.',
        },
      );
    }
    throw new HoldfastError(
      'database_corrupt',
      `The embedded database in ${path} cannot be opened: ${reason(said, cause)}`,
      {
        cause,
      },
    );
  }
}

/** PostgreSQL says why in its log; what PGlite throws is only that it stopped. */
function reason(said: readonly string[], cause: unknown): string {
  const lines = said.flatMap((line) => /(?:PANIC|FATAL|DETAIL): +(.*)$/.exec(line)?.[1] ?? []);
  if (lines.length > 0) return lines.join(' ');
  return cause instanceof Error && cause.message !== '' ? cause.message : String(cause);
}
