import pg from 'pg';
import { expect, it } from 'vitest';
import {
  createEngineDatabase,
  describeEachDatabaseSlowly,
  describePostgresSlowly,
  FEW_STRIDE,
} from '../harness/database.js';
import { stopped } from './other-process.js';
import type { KillAt } from './place.js';
import { type ChildEnd, startChild } from './run-child.js';
import { twoLives } from './two-lives.js';

/** A worker dies around the end of an attempt, the beginning of the next one, the end of the last, and when it is put back: each is once. */

const program = 'task-retries-child.js';
const code = 'model_failed';
const failed = (attempt: number, retried: boolean) => ['task.failed', { attempt, code, retried }];

const assigned = (attempt: number) => ['task.assigned', { attempt }];
const attempt = (n: number, retried: boolean) => [assigned(n), failed(n, retried)];

const expectWhole = ({ runs, stderr }: ChildEnd): void => {
  expect(runs, stderr).toMatchObject([
    {
      ...{ ok: true, complete: true },
      output: {
        ...{ attempts: 6, runs: 6, retryAt: null, tried: Array.from({ length: 6 }, () => code) },
        result: { type: 'error', code },
        told: [
          ...[...attempt(1, true), ...attempt(2, true), ...attempt(3, false)],
          ['task.requeued', { attempts: 3, requeues: 1 }],
          ...[...attempt(4, true), ...attempt(5, true), ...attempt(6, false)],
        ],
      },
    },
  ]);
};

/** Statements of the transactions that end an attempt, begin the next one, end the task and put it back. */
const ENDS = 'set "retry_at" =';
const BEGINS = 'attempts + 1';
const IS_OVER = '"result_type" =';
const PUTS_BACK = '"attempts_before" =';

describeEachDatabaseSlowly('a worker that dies around the attempts of a task', (kind) => {
  const around = (text: string): readonly KillAt[] => [
    { when: 'before', text, commit: true },
    { when: 'after', text, commit: true },
  ];
  const KILLS = [...around(BEGINS), ...around(PUTS_BACK), ...around(ENDS), ...around(IS_OVER)];

  it('does not lose one, and repeats none', { timeout: 600_000 }, async () => {
    const all = Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 24) < FEW_STRIDE;
    const lives = KILLS.slice(0, all ? KILLS.length : 4).map(async (kill) => {
      const { died, ended } = await twoLives({ kind, program, kill });
      expect(died, JSON.stringify(kill)).toBe(true);
      expectWhole(ended);
    });
    await Promise.all(lives);
  });
});

/** Statements that wait for a lock. */
async function waiters(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const text = `select count(*)::int as n from pg_stat_activity
                   where datname = current_database() and wait_event_type = 'Lock'`;
    return (await client.query<{ n: number }>(text)).rows[0]?.n ?? 0;
  } finally {
    await client.end();
  }
}

describePostgresSlowly('two workers and the attempts of a task', () => {
  it('begin each of them once, also when one freezes while it begins', { timeout: 300_000 }, async () => {
    const { options, drop } = await createEngineDatabase('postgres');
    const DATABASE_URL = options.databaseUrl ?? '';
    const start = (WORKER_ID: string, kill?: KillAt) => startChild({ DATABASE_URL, WORKER_ID }, kill, program);
    const one = start('one', { when: 'stop', text: BEGINS });
    try {
      await stopped(one.pid);
      const other = start('other');
      // It has found what is due, and waits for the row.
      await expect.poll(() => waiters(DATABASE_URL), { timeout: 60_000 }).toBeGreaterThan(0);
      process.kill(one.pid, 'SIGCONT');
      for (const end of await Promise.all([one.ended, other.ended])) expectWhole(end);
    } finally {
      await drop();
    }
  });
});
