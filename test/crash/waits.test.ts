import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeEachDatabaseSlowly } from '../harness/database.js';
import type { KillAt } from './kill-switch.js';
import { type ChildReport, startChild } from './run-child.js';
import { pgliteTemplate, postgresTemplate, type Template } from './template.js';
import { STAGES } from './waits-scenario.js';

/**
 * A run whose calls wait inside is killed where a wait is kept, where the run pauses, where a call goes on, and inside each
 * of its stages, and at statements that touch calls, interruptions or events, as many as
 * HOLDFAST_CRASH_STRIDE says. It must end as without a crash, and no stage may happen twice.
 */
const scratch = mkdtempSync(join(tmpdir(), 'holdfast-waits-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** These statements are few among all: a third of the stride of the matrix. */
const every = Math.ceil(Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 24) / 3);
const WHEN = ['before', 'sent', 'after'] as const;
const PROGRAM = 'waits-child.js';
const PLACES = STAGES.flatMap((stage) => [`${stage}:before`, `${stage}:after`]);

const happened = (file: string): Record<string, number> => {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return Object.fromEntries(STAGES.map((stage) => [stage, lines.filter((line) => line === stage).length]));
};

describeEachDatabaseSlowly('waits inside calls', (kind) => {
  let template: Template;
  let whole: ChildReport;
  let kills: readonly KillAt[] = [];
  let copies = 0;

  const finish = async (kill: KillAt | undefined, more: Readonly<Record<string, string>> = {}) => {
    const copy = await template.copy(`w${copies++}`);
    const file = join(scratch, `${kind}-${copies}`);
    const env = { ...copy.env, ...more, EFFECTS_FILE: file };
    try {
      const first = await startChild(env, kill, PROGRAM).ended;
      const died = first.signal === 'SIGKILL';
      const ended = died ? await startChild(env, undefined, PROGRAM).ended : first;
      return { died, ended, happened: happened(file) };
    } finally {
      await copy.drop();
    }
  };

  beforeAll(async () => {
    template = await (kind === 'pglite'
      ? pgliteTemplate()
      : postgresTemplate(process.env['HOLDFAST_TEST_POSTGRES_URL'] ?? ''));
    const started = await startChild(
      { ...template.env, EFFECTS_FILE: join(scratch, 'none'), ONLY_START: '1' },
      undefined,
      PROGRAM,
    ).ended;
    expect(started.signal, started.stderr).toBe('SIGKILL');
    const log = join(scratch, `${kind}-statements`);
    const { ended, happened: once } = await finish(undefined, { STATEMENT_LOG: log });
    expect(ended.report, ended.stderr).toMatchObject({ status: 'completed', ok: true, complete: true });
    expect(once).toEqual({ reserve: 1, confirm: 1, pay: 1, book: 1 });
    whole = ended.report as ChildReport;
    const statements = readFileSync(log, 'utf8').trim().split('\n');
    const near = statements.flatMap((text, index) =>
      /"calls"|"interruptions"|"emitted_events"|"timers"/.test(text) ? [index] : [],
    );
    const [taken = 0] = near.filter((index) => /update "holdfast"."emitted_events"/.test(statements[index] ?? ''));
    const paused = statements.findIndex((text, index) => index > taken && /commit/i.test(text));
    kills = [
      ...near
        .filter((_, index) => index % every === 0)
        .map((statement, index) => ({ when: WHEN[index % 3] ?? 'after', statement })),
      ...PLACES.map((place) => ({ when: 'place' as const, place })),
      { when: 'sent', statement: taken },
      { when: 'sent', statement: paused },
    ];
  }, 300_000);
  afterAll(() => template.drop());

  it('end as without a crash, and no stage happens twice', { timeout: 1_800_000 }, async () => {
    let deaths = 0;
    for (const kill of kills) {
      const { died, ended, happened: times } = await finish(kill);
      const what = `${JSON.stringify(kill)}: ${ended.stderr}`;
      if (died) deaths++;
      expect(ended.report, what).not.toBeNull();
      const { events, ...outcome } = ended.report as ChildReport;
      const { events: wholeEvents, ...wholeOutcome } = whole;
      expect(outcome, what).toEqual(wholeOutcome);
      expect(Math.max(...Object.values(times)), what).toBe(1);
      expect(times['book'], what).toBe(1);
      if (kill.when === 'place') expect(died, what).toBe(true);
      // A question about what may have happened is an event of its own: only then may the log be another one.
      if (!events.some((event) => event.kind === 'call.unknown')) expect(events, what).toEqual(wholeEvents);
    }
    expect(deaths).toBeGreaterThan(kills.length / 2);
  });
});
