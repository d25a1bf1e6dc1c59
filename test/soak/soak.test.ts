import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { noOwnPostgres } from '../harness/own-postgres.js';
import { SLOW } from '../harness/slow.js';

/** A moment of `npm run soak`: what takes ten minutes must not rot meanwhile. */
const why = SLOW ? noOwnPostgres() : 'slow: HOLDFAST_TEST_SLOW=1 runs it';

const slow = SLOW ? '' : ' (slow: HOLDFAST_TEST_SLOW=1 runs it)';

describe.skipIf(!SLOW)(`the steady soak${slow}`, () => {
  it('does each errand and sees nothing grow in a moment of it', { timeout: 240_000 }, () => {
    const args = ['dist/test/soak/main.js', '--steady', 'pglite', '--minutes', '0.3', '--rate', '1'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(stdout, stderr).toMatch(/^errands: \S/m);
    expect(stdout).toMatch(/^MB heap: \S/m);
    expect(stdout).not.toMatch(/^PROBLEM (?!.* an hour, more than)/m);
    expect(status, stdout).not.toBeNull();
  });
});

describe.skipIf(why !== null)(`the soak${why === null ? '' : ` (${why})`}`, () => {
  it('finds nothing wrong in a moment of it', { timeout: 240_000 }, () => {
    const args = ['dist/test/soak/main.js', '--minutes', '0.35', '--seed', 'a moment'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(stdout, stderr).toMatch(/^all is well$/m);
    expect(stdout).toMatch(/^faults: \S/m);
    expect(status).toBe(0);
  });
});
