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
 * A fork whose process is killed while it is made, while it replays what it took over, and inside its calls, must end as
 * without a crash: what was taken over does not run, what comes after runs once. HOLDFAST_CRASH_STRIDE says how many instants.
 */
const scratch = mkdtempSync(join(tmpdir(), 'holdfast-forks-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const WHEN = ['before', 'sent', 'after'] as const;
/** Statements from the fork's own transaction to the begin of its first segment come first. */
const stride = Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 24);
const PLACES = ['wire:after', 'pay:before', 'transfer:after', 'model:2', 'wire:before', 'model:3'].filter(
  (_, index) => index % Math.ceil(stride / 96) === 0,
);
const STATEMENTS = [9, 16, ...Array.from({ length: Math.ceil(60 / stride) }, (_, index) => index * stride)];

const KILLS: readonly KillAt[] = [
  ...PLACES.map((place) => ({ when: 'place' as const, place })),
  ...STATEMENTS.map((statement, index) => ({ when: WHEN[index % 3] ?? 'after', statement })),
];

describeCrashes('a fork', (kind) => {
  let template: Template;
  let whole: RunReport | undefined;
  let copies = 0;

  const finish = async (kill: KillAt | undefined) => {
    const copy = await template.copy(`f${copies}`);
    const file = join(scratch, `${kind}-${copies++}`);
    const env = { ...copy.env, EFFECTS_FILE: file };
    try {
      const first = await startChild(env, kill, 'fork-child.js').ended;
      const died = first.signal === 'SIGKILL';
      const ended = died ? await startChild(env, undefined, 'fork-child.js').ended : first;
      return { died, ended, effects: effectsIn(file).toSorted() };
    } finally {
      await copy.drop();
    }
  };

  beforeAll(async () => {
    template = await templateOf(kind);
    const env = { ...template.env, EFFECTS_FILE: join(scratch, `${kind}-source`), ONLY_SOURCE: '1' };
    const source = await startChild(env, undefined, 'fork-child.js').ended;
    expect(source.code, source.stderr).toBe(0);
    const { ended, effects } = await finish(undefined);
    [whole] = ended.runs;
    expect(whole, ended.stderr).toMatchObject({ status: 'completed', ok: true, complete: true });
    expect(effects).toEqual(['pay:call_pay', 'transfer:call_transfer', 'wire:call_wire']);
  }, 180_000);
  afterAll(() => template.drop());

  it('ends as without a crash, whenever its process died', { timeout: 1_800_000 }, async () => {
    let deaths = 0;
    for (const kill of KILLS) {
      const { died, ended, effects } = await finish(kill);
      if (died) deaths++;
      const [run] = ended.runs;
      const what = `${JSON.stringify(kill)}: ${ended.stderr}`;
      expect({ ...run, events: [] }, what).toEqual({ ...whole, events: [] });
      expect(effects, what).toEqual(['pay:call_pay', 'transfer:call_transfer', 'wire:call_wire']);
      // A question to a person is an event of its own: only then may the log be another one.
      const asked = run?.events.some((event) => event.kind === 'call.unknown');
      if (!asked) expect(run, what).toEqual(whole);
    }
    expect(deaths).toBeGreaterThan(KILLS.length / 2);
  });
});
