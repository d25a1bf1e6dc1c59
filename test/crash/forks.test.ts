import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { describeEachDatabaseSlowly } from '../harness/database.js';
import { fromSource } from './from-source.js';
import { tryEach } from './ledger.js';
import type { KillAt } from './place.js';

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

describeEachDatabaseSlowly('a fork', (kind) => {
  const effectsOnce = ['pay:call_pay', 'transfer:call_transfer', 'wire:call_wire'];
  const { finish, whole } = fromSource(kind, { program: 'fork-child.js', scratch, effects: effectsOnce });

  it('ends as without a crash, whenever its process died', { timeout: 1_800_000 }, async () => {
    await tryEach(`forks on ${kind}`, KILLS, async (kill) => {
      const { died, ended, effects } = await finish(kill);
      const [run] = ended.runs;
      const what = `${JSON.stringify(kill)}: ${ended.stderr}`;
      expect({ ...run, events: [] }, what).toEqual({ ...whole(), events: [] });
      expect(effects, what).toEqual(effectsOnce);
      // A question to a person is an event of its own: only then may the log be another one.
      const asked = run?.events.some((event) => event.kind === 'call.unknown');
      if (!asked) expect(run, what).toEqual(whole());
      return { died };
    });
  });
});
