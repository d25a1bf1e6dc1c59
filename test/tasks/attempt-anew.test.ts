import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { createEngine } from '../../src/index.js';
import { createEngineDatabase, describePostgres } from '../harness/database.js';
import { DOCKER_HOST, describeDockerSlowly } from '../harness/docker.js';
import { ADMIN } from '../harness/engine.js';
import { removeLeft } from '../harness/on-docker.js';
import { BEGIN, submitAsked } from './asked-task.js';
import { asking } from './asking.js';

const LONG = { timeout: 120_000 };
const LIMIT = 2;

describeDockerSlowly('an attempt with whose going on processes died', () => {
  describePostgres('of a task', () => {
    it('begins again', LONG, async () => {
      const { options, drop } = await createEngineDatabase('postgres');
      onTestFinished(drop);
      const runs: string[] = [];
      onTestFinished(() => removeLeft(DOCKER_HOST, runs));
      const client = new pg.Client(String(options.databaseUrl));
      await client.connect();
      onTestFinished(() => client.end());
      const engine = await createEngine({
        hostFolders: [{ path: '/tmp', writable: true }],
        ...{ agents: [asking], workerId: 'one', dockerHost: DOCKER_HOST, crashLimit: LIMIT, ...options },
        retries: { most: 1, firstMs: 3_600_000, longestMs: 3_600_000 },
      });
      onTestFinished(() => engine.stop());
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
      const gone = `select count(*)::int as n from holdfast.environments where state = 'gone'`;
      await expect.poll(async () => (await client.query<{ n: number }>(gone)).rows[0]?.n, LONG).toBe(1);
      rmSync(join(task.dir, 'broken'));
      for (let epoch = 1; epoch <= LIMIT; epoch++)
        await client.query(
          `insert into holdfast.work_notes (tenant, name, worker, epoch)
           select tenant, 'next attempt of task ' || id, 'gone', $1 from holdfast.tasks`,
          [epoch],
        );
      await client.query('update holdfast.tasks set retry_at = now()');
      const seen = () => engine.getTask(task.id, ADMIN);
      await expect.poll(async () => (await seen()).status, LONG).toBe('completed');
      const { attempts, runId } = await seen();
      runs.push(runId);
      expect([attempts, task.log()]).toEqual([2, ['began', 'began']]);
      expect((await engine.getRun(runId, ADMIN)).forkedFrom ?? null).toBeNull();
    });
  });
});
