import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeCrashes } from '../harness/database.js';
import type { KillAt } from './place.js';
import type { RunReport } from './report.js';
import { startChild } from './run-child.js';
import { type Template, templateOf } from './template.js';
import { effectsIn } from './world.js';

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

describeCrashes('a repair', (kind) => {
  let template: Template;
  let whole: RunReport | undefined;
  let copies = 0;

  const finish = async (kill: KillAt | undefined) => {
    const copy = await template.copy(`r${copies}`);
    const file = join(scratch, `${kind}-${copies++}`);
    const env = { ...copy.env, EFFECTS_FILE: file };
    try {
      const first = await startChild(env, kill, 'repair-child.js').ended;
      const died = first.signal === 'SIGKILL';
      const ended = died ? await startChild(env, undefined, 'repair-child.js').ended : first;
      return { died, ended, effects: effectsIn(file).toSorted() };
    } finally {
      await copy.drop();
    }
  };

  beforeAll(async () => {
    template = await templateOf(kind);
    const env = { ...template.env, EFFECTS_FILE: join(scratch, `${kind}-source`), ONLY_SOURCE: '1' };
    const source = await startChild(env, undefined, 'repair-child.js').ended;
    expect(source.code, source.stderr).toBe(0);
    const { ended, effects } = await finish(undefined);
    [whole] = ended.runs;
    expect(whole, ended.stderr).toMatchObject({ status: 'completed', ok: true, complete: true });
    expect(effects).toEqual(['transfer:call_transfer']);
  }, 180_000);
  afterAll(() => template.drop());

  it('is made once, whenever its process died', { timeout: 1_800_000 }, async () => {
    let deaths = 0;
    for (const kill of KILLS) {
      const { died, ended, effects } = await finish(kill);
      if (died) deaths++;
      const what = `${JSON.stringify(kill)}: ${ended.stderr}`;
      expect(ended.runs, what).toEqual([whole]);
      expect(effects, what).toEqual(['transfer:call_transfer']);
    }
    expect(deaths).toBeGreaterThan(KILLS.length / 2);
  });
});
