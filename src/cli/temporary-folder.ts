import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** As shells say it of SIGINT. */
const INTERRUPTED = 130;

/** Gives work a folder of its own, which is removed when the work ends. A process that is interrupted meanwhile leaves nothing behind. */
export async function inTemporaryFolder<T>(prefix: string, work: (dir: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), prefix));
  const remove = (): void => rmSync(dir, { recursive: true, force: true });
  const end = (): void => process.exit(INTERRUPTED);
  process.once('exit', remove).once('SIGINT', end).once('SIGTERM', end);
  try {
    return await work(dir);
  } finally {
    process.off('exit', remove).off('SIGINT', end).off('SIGTERM', end);
    remove();
  }
}
