import pg from 'pg';
import { expect, it } from 'vitest';
import { createEngineDatabase, describeCrashes, describePostgresSlowly, FEW_STRIDE } from '../harness/database.js';
import { stopped } from './other-process.js';
import type { KillAt } from './place.js';
import { type ChildEnd, startChild } from './run-child.js';
import { twoLives } from './two-lives.js';

/** A worker dies around the end of an attempt, the beginning of the next one, and the end of the last: each is once. */

const program = 'task-retries-child.js';
const code = 'model_failed';
const failed = (attempt: number, retried: boolean) => ['task.failed', { attempt, code, retried }];

const expectWhole = ({ runs, stderr }: ChildEnd): void => {
  expect(runs, stderr).toMatchObject([
    {
      ...{ ok: true, complete: true },
      output: {
        ...{ attempts: 3, runs: 3, retryAt: null, tried: [code, code, code], result: { type: 'error', code } },
        told: [
          ...[['task.assigned', { attempt: 1 }], failed(1, true), ['task.assigned', { attempt: 2 }], failed(2, true)],
          ...[['task.assigned', { attempt: 3 }], failed(3, false)],
        ],
      },
    },
  ]);
};

/** Statements of the transactions that end an attempt, begin the next one and end the task. */
const ENDS = 'set "retry_at" =';
const BEGINS = 'attempts + 1';
const IS_OVER = '"result_type" =';

describeCrashes('a worker that dies around the attempts of a task', (kind) => {
  const KILLS: readonly KillAt[] = [BEGINS, ENDS, IS_OVER].flatMap((text) => [
    { when: 'before', text, commit: true },
    { when: 'after', text, commit: true },
  ]);

  it('does not lose one, and repeats none', { timeout: 600_000 }, async () => {
    const all = Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 24) < FEW_STRIDE;
    const lives = KILLS.slice(0, all ? KILLS.length : 3).map(async (kill) => {
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
  it('begin each of them once, also when one stands still while it begins', { timeout: 300_000 }, async () => {
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
