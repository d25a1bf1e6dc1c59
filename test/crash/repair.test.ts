import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { describeEachDatabaseSlowly } from '../harness/database.js';
import { fromSource } from './from-source.js';
import { tryEach } from './ledger.js';
import type { KillAt } from './place.js';

/**
 * A repair whose process is killed while it stops the broken run, while it makes the one that goes on, and while that works, ends as
 * without a crash when it is repeated: one run goes on, and what was done before is not done again.
 */
const scratch = mkdtempSync(join(tmpdir(), 'holdfast-repair-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const WHEN = ['before', 'sent', 'after'] as const;
/** The two transactions of the repair come first. */
const FIRST = 24;
const stride = Math.max(1, Math.ceil(Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 24) / 32));
const KILLS: readonly KillAt[] = Array.from({ length: Math.ceil(FIRST / stride) }, (_, index) => ({
  when: WHEN[index % 3] ?? 'after',
  statement: index * stride,
}));

describeEachDatabaseSlowly('a repair', (kind) => {
  const effectsOnce = ['transfer:call_transfer'];
  const { finish, whole } = fromSource(kind, { program: 'repair-child.js', scratch, effects: effectsOnce });

  it('is made once, whenever its process died', { timeout: 1_800_000 }, async () => {
    await tryEach(`repairs on ${kind}`, KILLS, async (kill) => {
      const { died, ended, effects } = await finish(kill);
      const what = `${JSON.stringify(kill)}: ${ended.stderr}`;
      expect(ended.runs, what).toEqual([whole()]);
      expect(effects, what).toEqual(effectsOnce);
      return { died };
    });
  });
});
