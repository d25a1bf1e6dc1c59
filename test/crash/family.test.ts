import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type DatabaseKind, describeEachDatabaseSlowly } from '../harness/database.js';
import { PLACES, TOOLS } from './family-scenario.js';
import type { KillAt } from './kill-switch.js';
import { pgliteTemplate, postgresTemplate, type Template } from './template.js';

/**
 * The crash matrix of parents and children: a process that works on three runs, one below the other, is killed at one instant after
 * the other. Every call must have exactly one child, and every run the same output and the same log as without a crash.
 * Then at each instant alone, and at every durable statement whose number HOLDFAST_CRASH_STRIDE divides (default 24).
 */
const stride = Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 24);
const WHEN = ['before', 'sent', 'after'] as const;
/** The scenario makes about this many durable statements; later ones do not exist and the process just ends. */
const STATEMENTS = 310;
const PROGRAM = join(import.meta.dirname, '../../dist/test/crash/family-child.js');

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-family-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const cells: { name: string; kill: KillAt }[] = [
  // The chain goes through all of them.
  ...PLACES.filter((_, index) => index % Math.ceil(stride / 12) === 0).map((place) => ({
    name: place,
    kill: { when: 'place' as const, place },
  })),
  ...Array.from({ length: Math.ceil(STATEMENTS / stride) }, (_, index) => {
    const statement = index * stride;
    const when = WHEN[index % WHEN.length] ?? 'after';
    return { name: `${when} durable statement ${statement}`, kill: { when, statement } };
  }),
];

const event = z.object({ seq: z.number(), kind: z.string(), data: z.unknown(), stateHashAfter: z.string() });
const reports = z.array(
  z.object({
    ...{ id: z.string(), agent: z.string(), parentRunId: z.string().nullable(), status: z.string() },
    ...{ output: z.unknown(), error: z.unknown(), turns: z.number(), usage: z.unknown() },
    ...{ ok: z.boolean(), complete: z.boolean(), events: z.array(event) },
  }),
);
type Reports = z.infer<typeof reports>;

async function runProcess(env: Readonly<Record<string, string>>, kill?: KillAt) {
  const { DATABASE_URL: _url, HOLDFAST_DATA_DIR: _dir, ...inherited } = process.env;
  const child = spawn(process.execPath, [PROGRAM], {
    env: { ...inherited, ...env, ...(kill === undefined ? {} : { KILL_AT: JSON.stringify(kill) }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const signal = new Promise<NodeJS.Signals | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (_code, by) => resolve(by));
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { signal: await signal, stderr, reports: stdout === '' ? null : reports.parse(JSON.parse(stdout)) };
}

const effectsIn = (file: string): Record<string, number> => {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  return Object.fromEntries(TOOLS.map((tool) => [tool, lines.filter((line) => line.startsWith(`${tool}:`)).length]));
};

const templateOf = (kind: DatabaseKind): Promise<Template> =>
  kind === 'pglite' ? pgliteTemplate() : postgresTemplate(process.env['HOLDFAST_TEST_POSTGRES_URL'] ?? '');

const withoutEvents = (runs: Reports) => runs.map(({ events: _events, ...run }) => run);

describeEachDatabaseSlowly('crash matrix of families', (kind) => {
  let template: Template;
  let whole: Reports;
  let copies = 0;

  /** Runs processes that die one after the other, then one that does not, and says how it ended. */
  const finish = async (name: string, kills: readonly KillAt[]) => {
    const copy = await template.copy(`f${copies++}`);
    const file = join(scratch, `${kind}-${name.replaceAll(/\W+/g, '-')}`);
    const env = { ...copy.env, EFFECTS_FILE: file };
    let deaths = 0;
    try {
      for (const kill of [...kills, undefined]) {
        const ended = await runProcess(env, kill);
        if (ended.signal !== 'SIGKILL') return { deaths, ended, effects: effectsIn(file) };
        deaths++;
      }
      throw new Error('the last process died too');
    } finally {
      await copy.drop();
    }
  };

  /** The same end of every run as without any crash. */
  const expectWhole = ({ ended, effects }: Awaited<ReturnType<typeof finish>>): void => {
    expect(ended.reports, ended.stderr).not.toBeNull();
    const runs = ended.reports ?? [];
    expect(withoutEvents(runs)).toEqual(withoutEvents(whole));
    expect(effects).toMatchObject({ pay: 1, transfer: 1 });
    expect(effects['note']).toBeGreaterThan(0);
    expect(effects['look']).toBeGreaterThan(0);
    // A question to a person is an event of its own: only then may a log be another one.
    const asked = runs.some(({ events }) => events.some(({ kind: one }) => one === 'call.unknown'));
    if (!asked) expect(runs.map(({ events }) => events)).toEqual(whole.map(({ events }) => events));
  };

  beforeAll(async () => {
    template = await templateOf(kind);
    const started = await runProcess({ ...template.env, EFFECTS_FILE: join(scratch, 'none'), ONLY_START: '1' });
    expect(started.signal, started.stderr).toBe('SIGKILL');
    const { ended } = await finish('whole', []);
    whole = ended.reports ?? [];
    expect(
      whole.map(({ agent, status, ok, complete }) => [agent, status, ok, complete]),
      ended.stderr,
    ).toEqual([
      ['checker', 'completed', true, true],
      ['clerk', 'completed', true, true],
      ['lead', 'completed', true, true],
    ]);
    expect(whole[0]?.parentRunId).toBe(whole[1]?.id);
    expect(whole[1]?.parentRunId).toBe(whole[2]?.id);
  }, 120_000);
  afterAll(() => template.drop());

  it('killed at one instant after the other in one family', { timeout: 600_000 }, async () => {
    const deaths = join(scratch, `${kind}-deaths`);
    const ended = await finish(
      'chain',
      Array.from(PLACES, () => ({ when: 'each', deaths })),
    );
    expectWhole(ended);
    expect(ended.deaths).toBeGreaterThan(10);
  });

  describe.concurrent('killed', () => {
    for (const { name, kill } of cells) {
      it(name, { timeout: 1_800_000 }, async () => {
        const ended = await finish(name, [kill]);
        if (kill.when === 'place') expect(ended.deaths).toBe(1);
        expectWhole(ended);
      });
    }
  });
});
