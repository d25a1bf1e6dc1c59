import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeLogKey } from '../../src/engine/evidence/log-keys.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { describeEachDatabaseSlowly } from '../harness/database.js';
import { tryEach } from './ledger.js';
import { stopped } from './other-process.js';
import type { KillAt } from './place.js';
import { type ChildEnd, startChild } from './run-child.js';
import { type Template, templateOf } from './template.js';

/**
 * Erasure of a run and of a subject, and retention, whose process is killed at durable statements. When the next one starts,
 * each run is whole or gone; then it goes on, and in the end nothing is left of what had to go, and every proof holds.
 * HOLDFAST_CRASH_STRIDE says how many statements are taken beside those that always are.
 */
const PROGRAM = 'erasure-child.js';
const STRIDE = Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 24);
const WHEN = ['before', 'sent', 'after'] as const;
const AT_ONCE = 3;
type Work = 'erase' | 'retention';

const ERASING = 'insert into holdfast.erasures';
const REMOVING = 'insert into holdfast.removed_runs';
const ALWAYS: Readonly<Record<Work, readonly KillAt[]>> = {
  erase: [
    { when: 'sent', text: ERASING, commit: true },
    { when: 'after', text: 'insert into "holdfast"."erasure_requests"', commit: true },
  ],
  retention: [{ when: 'before', text: REMOVING, commit: true }],
};
const ENDS: Readonly<Record<Work, readonly string[]>> = {
  erase: [...Array(4).fill('erased'), ...Array(3).fill('whole')],
  retention: ['erased', 'erased', 'removed', ...Array(4).fill('whole')],
};

/** State, whether its log verifies, what of its payloads, whether its proof holds, and whether that says what had to go. */
const PROVEN: Readonly<Record<string, string>> = {
  erased: 'erased,true,erased,true,false',
  whole: 'whole,true,checked,true,false',
};

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-erasure-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describeEachDatabaseSlowly('what goes', (kind) => {
  let template: Template;
  let env: Readonly<Record<string, string>> = {};
  let copies = 0;
  const logOf = (work: Work) => join(scratch, `${kind}-${work}`);

  const onCopy = async <T>(work: (place: Readonly<Record<string, string>>) => Promise<T>): Promise<T> => {
    const copy = await template.copy(`c${copies++}`);
    // What goes is entered into the log and signed: each copy has checkpoints of its own.
    const dataDir = mkdtempSync(join(scratch, 'copy-'));
    cpSync(env['HOLDFAST_DATA_DIR'] ?? '', dataDir, { recursive: true });
    try {
      return await work({ ...env, HOLDFAST_DATA_DIR: dataDir, ...copy.env });
    } finally {
      await copy.drop();
    }
  };

  /** What had to go is gone, the rest is there, and the log of each can be proven. */
  const expectGone = (work: Work, { runs, stderr }: ChildEnd): void => {
    const states = ENDS[work];
    const proven = states.flatMap((state) => PROVEN[state] ?? []);
    expect(runs, stderr).toMatchObject([{ ok: true, output: { states, canaries: [], proven } }]);
  };

  beforeAll(async () => {
    template = await templateOf(kind);
    const keyFile = join(scratch, `${kind}-key`);
    const log = { LOG_KEY_FILE: keyFile, LOG_KEY: makeLogKey(keyFile, 'holdfast/test').text };
    // On PostgreSQL checkpoints are in a directory of their own.
    env = { HOLDFAST_DATA_DIR: mkdtempSync(join(scratch, 'data-')), ...log };
    const prepared = await startChild({ ...env, ...template.env, WORK: 'prepare' }, undefined, PROGRAM).ended;
    expect(prepared.code, prepared.stderr).toBe(0);
    const whole = (work: Work) =>
      onCopy((place) => startChild({ ...place, WORK: work, STATEMENT_LOG: logOf(work) }, undefined, PROGRAM).ended);
    const [erased, retained] = await Promise.all([whole('erase'), whole('retention')]);
    expectGone('erase', erased);
    expectGone('retention', retained);
  }, 120_000);
  afterAll(() => template.drop());

  // Where few are taken, one database has them.
  const few = STRIDE >= 24 && kind === 'pglite';

  it.each(few ? (['erase'] as const) : (['erase', 'retention'] as const))(
    '%s: each run is whole or gone whenever its process died, and goes',
    {
      timeout: 1_800_000,
    },
    async (work) => {
      const statements = readFileSync(logOf(work), 'utf8').trim().split('\n');
      const sample = statements.flatMap((_, statement): KillAt[] =>
        statement % STRIDE === STRIDE - 1
          ? [{ when: WHEN[Math.floor(statement / STRIDE) % 3] ?? 'after', statement }]
          : [],
      );
      const tryOne = (kill: KillAt) =>
        onCopy(async (place) => {
          const first = await startChild({ ...place, WORK: work }, kill, PROGRAM).ended;
          const ended = await startChild({ ...place, WORK: work }, undefined, PROGRAM).ended;
          const { output } = ended.runs[0] as { readonly output: { readonly before: readonly string[] } };
          const states = output.before.map((state) => state.replace(/^(erased|removed|whole)$/, 'fine'));
          expect(states, JSON.stringify(kill)).toEqual(Array(7).fill('fine'));
          expectGone(work, ended);
          return { died: first.signal === 'SIGKILL' };
        });
      const kills = few ? ALWAYS[work].slice(0, 1) : [...ALWAYS[work], ...sample];
      await tryEach(`${work} on ${kind}`, kills, tryOne, AT_ONCE);
    },
  );

  it.runIf(kind === 'postgres')('goes once by the retention of two workers', { timeout: 120_000 }, () =>
    onCopy(async (place) => {
      const stop: KillAt = { when: 'stop', text: ERASING, commit: true };
      const running = new Set<number>();
      const begin = (worker: string, kill?: KillAt) => {
        const { pid, ended } = startChild({ ...place, WORK: 'retention', WORKER_ID: worker }, kill, PROGRAM);
        running.add(pid);
        return { pid, ended: ended.finally(() => running.delete(pid)) };
      };
      const north = begin('north', stop);
      const beside = await openDatabase({ databaseUrl: place['DATABASE_URL'] ?? '', dataDir: scratch });
      try {
        await stopped(north.pid);
        // It stands still for longer than it has taken the chore for, with work of that in its hands; another worker comes.
        await beside.knex('holdfast.chores').update({ due_at: beside.knex.raw("now() - interval '1 second'") });
        const south = begin('south');
        const gone = async () => [
          ...(await beside.knex('holdfast.erasures').pluck('actor')),
          ...(await beside.knex('holdfast.removed_runs').pluck('actor')),
        ];
        await expect.poll(gone, { timeout: 60_000 }).toEqual(Array(3).fill('retention'));
        process.kill(north.pid, 'SIGCONT');
        for (const { ended } of [north, south]) expectGone('retention', await ended);
        expect(await gone()).toHaveLength(3);
      } finally {
        for (const pid of running) process.kill(pid, 'SIGKILL');
        await beside.close();
      }
    }),
  );
});
