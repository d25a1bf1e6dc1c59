import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeEachDatabaseSlowly } from '../harness/database.js';
import { tryEach } from './ledger.js';
import type { KillAt } from './place.js';
import type { ChildEnd } from './run-child.js';
import { twoLives } from './two-lives.js';

/**
 * A conversation of three runs, whose process is killed around the statements that let a run into its session, keep what it
 * said, and let it out: the session must have everything once. HOLDFAST_CRASH_STRIDE says
 * how many of them.
 */
const scratch = mkdtempSync(join(tmpdir(), 'holdfast-session-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const PROGRAM = 'session-child.js';
const WHEN = ['before', 'sent', 'after'] as const;

describeEachDatabaseSlowly('a session', (kind) => {
  let whole: ChildEnd;
  let kills: readonly KillAt[] = [];

  const finish = (kill: KillAt | undefined, first: Readonly<Record<string, string>> = {}) =>
    twoLives({ kind, program: PROGRAM, kill, first });

  beforeAll(async () => {
    const log = join(scratch, kind);
    whole = (await finish(undefined, { STATEMENT_LOG: log })).ended;
    expect(whole.runs, whole.stderr).toHaveLength(3);
    for (const run of whole.runs) expect(run).toMatchObject({ status: 'completed', ok: true, complete: true });
    const statements = readFileSync(log, 'utf8').trim().split('\n');
    const near = statements.flatMap((text, index) =>
      /"session|session_id/.test(text) || (/commit/i.test(text) && /"session/.test(statements[index - 1] ?? ''))
        ? [index]
        : [],
    );
    // The end of the second run: what it said, and the commit of it.
    const saved =
      near.filter((index) => /insert into "holdfast"."session_items"/.test(statements[index] ?? ''))[1] ?? 0;
    const committed = near.find((index) => index > saved && /commit/i.test(statements[index] ?? '')) ?? 0;
    const every = Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 24);
    kills = [
      ...near
        .filter((_, index) => index % every === 0)
        .map((statement, index) => ({ when: WHEN[index % 3] ?? 'after', statement })),
      { when: 'after', statement: saved },
      { when: 'sent', statement: committed },
    ];
  }, 120_000);

  it('has everything once, whenever its process died', { timeout: 1_800_000 }, async () => {
    await tryEach(`sessions on ${kind}`, kills, async (kill) => {
      const { died, ended } = await finish(kill);
      expect(ended.runs, `${JSON.stringify(kill)}: ${ended.stderr}`).toEqual(whole.runs);
      return { died };
    });
  });
});
