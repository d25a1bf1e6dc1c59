import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { createEngine } from '../../src/index.js';
import { createEngineDatabase, describePostgres } from '../harness/database.js';
import { DOCKER_HOST, describeDockerSlowly } from '../harness/docker.js';
import { ADMIN } from '../harness/engine.js';
import { removeLeft } from '../harness/on-docker.js';
import { WorkerProcess } from '../workers/worker-process.js';
import { BEGIN, submitAsked } from './asked-task.js';
import { asking } from './asking.js';

const PROGRAM = join(import.meta.dirname, '../../dist/programs/test/tasks/asking-worker.js');
const LONG = { timeout: 120_000 };

describeDockerSlowly('an attempt that two workers begin at the same moment', () => {
  describePostgres('with the files of the one before', () => {
    it('begins once', LONG, async () => {
      const { options, drop } = await createEngineDatabase('postgres');
      onTestFinished(drop);
      const runs: string[] = [];
      // Some of what they leave is kept for an hour.
      onTestFinished(() => removeLeft(DOCKER_HOST, runs));
      const url = String(options.databaseUrl);
      const clients = [new pg.Client(url), new pg.Client(url)] as const;
      const [holder, other] = clients;
      for (const client of clients) await client.connect();
      onTestFinished(async () => void (await Promise.all(clients.map((client) => client.end()))));
      const engine = await createEngine({
        hostFolders: [{ path: '/tmp', writable: true }],
        ...{ agents: [asking], workerId: 'one', dockerHost: DOCKER_HOST, ...options },
        retries: { most: 1, firstMs: 3_600_000, longestMs: 3_600_000 },
      });
      onTestFinished(() => engine.stop());
      const beside = new WorkerProcess({ DATABASE_URL: url, ENGINE_HOST: DOCKER_HOST, WORKER_ID: 'two' }, [PROGRAM]);
      onTestFinished(async () => {
        beside.kill('SIGKILL');
        await beside.ended;
      });
      await beside.says('ready');
      const task = await submitAsked(
        engine,
        (dir) => {
          writeFileSync(join(dir, 'broken'), '');
          return [BEGIN, `! ${dir}/broken`, '$ echo two >>file'];
        },
        { keepHours: 1 },
      );
      runs.push(task.runId);
      onTestFinished(() => rmSync(task.dir, { recursive: true, force: true }));
      const seen = () => engine.getTask(task.id, ADMIN);
      const ask = async (sql: string) => (await other.query<{ n: number }>(sql)).rows[0]?.n;
      const gone = `select count(*)::int as n from holdfast.environments where state = 'gone'`;
      await expect.poll(() => ask(gone), LONG).toBe(1);
      // Who reads the trajectory of the run would wait for it, too.
      await expect.poll(() => ask('select count(*)::int as n from holdfast.trajectories_due'), LONG).toBe(0);
      rmSync(join(task.dir, 'broken'));
      await holder.query('begin');
      await holder.query('select 1 from holdfast.runs where id = $1 for update', [task.runId]);
      await other.query('update holdfast.tasks set retry_at = now()');
      const waiting = `select count(*)::int as n from pg_stat_activity where datname = current_database()
        and wait_event_type = 'Lock' and query like '%holdfast%runs%for no key update%'`;
      await expect.poll(() => ask(waiting), LONG).toBeGreaterThanOrEqual(2);
      await holder.query('commit');
      await expect.poll(async () => (await seen()).status, LONG).toBe('completed');
      const { attempts, tried = [], runId } = await seen();
      runs.push(runId);
      expect([attempts, tried.length, task.log()]).toEqual([2, 2, ['began']]);
      expect(await ask('select count(*)::int as n from holdfast.runs')).toBe(2);
      expect(await engine.getRun(runId, ADMIN)).toMatchObject({ forkedFrom: { runId: task.runId } });
    });
  });
});
