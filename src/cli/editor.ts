import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environmentVariable } from '../config.js';
import { HoldfastError } from '../core/errors/errors.js';

/**
 * Gives a text to the editor of the person, in a file that only they can read and that is removed after. Throws `invalid_request`
 * when the editor fails.
 */
export function edited(text: string, name: string): string {
  const editor = environmentVariable('VISUAL') ?? environmentVariable('EDITOR') ?? 'vi';
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-edit-'));
  const file = join(folder, name);
  try {
    writeFileSync(file, text, { mode: 0o600 });
    // A shell: the variable may have arguments, as in "code --wait".
    const { status, signal } = spawnSync('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' });
    if (status === 0) return readFileSync(file, 'utf8');
    throw new HoldfastError(
      'invalid_request',
      `The editor \`${editor}\` ended with ${signal ?? `the exit code ${status}`}.`,
      {
        hint: 'Set EDITOR or VISUAL to an editor that waits until the file is closed, such as `nano` or `code --wait`.',
      },
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
